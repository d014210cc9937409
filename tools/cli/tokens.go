package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// parseTokens reads ids separated by commas or white space.
func parseTokens(s string) ([]int32, error) {
	var ids []int32
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		n, err := strconv.ParseInt(f, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not a token id", f)
		}
		ids = append(ids, int32(n))
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no token ids")
	}
	return ids, nil
}

// readTokens reads a file of one sequence of ids a line.
func readTokens(ctx context.Context, path string) ([][]int32, error) {
	lines, err := readLines(ctx, path)
	if err != nil {
		return nil, err
	}
	var prompts [][]int32
	for i, line := range lines {
		ids, err := parseTokens(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
		prompts = append(prompts, ids)
	}
	return prompts, nil
}

// readLines reads the lines of a file. None may be empty, so that line i of the
// file is prompt i of the batch; empty lines at the end are left out.
func readLines(ctx context.Context, path string) ([]string, error) {
	data, err := readFile(ctx, path, maxPrompts)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(data), "\r\n \t"), "\n")
	for i, line := range lines {
		if lines[i] = strings.TrimRight(line, "\r"); strings.TrimSpace(line) == "" {
			return nil, fmt.Errorf("%s, line %d: it is empty, and each line is a prompt", path, i+1)
		}
	}
	return lines, nil
}
