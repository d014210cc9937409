package all_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/all"
)

// Families are small, and docs/families.md says how small.
func TestLinesOfFamilies(t *testing.T) {
	doc, err := os.ReadFile("../../docs/families.md")
	require.NoError(t, err)
	var sizes []int
	for _, f := range all.Families() {
		files, err := filepath.Glob("../" + f.Name + "/*.go")
		require.NoError(t, err)
		lines, n := 0, 0
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				lines, n = lines+code(t, file), n+1
			}
		}
		require.Less(t, lines, 150, f.Name)
		require.Contains(t, string(doc), fmt.Sprintf("| `%s` | %d in %d |", f.Name, lines, n))
		require.NotEmpty(t, f.Doc, f.Name)
		sizes = append(sizes, lines)
	}
	slices.Sort(sizes)
	require.Less(t, sizes[len(sizes)/2], 80)
}

// code counts the lines of a file that are neither blank nor comment.
func code(t testing.TB, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	file := token.NewFileSet().AddFile(path, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok != token.SEMICOLON || lit == ";" {
			lines[file.Line(pos)] = true
		}
	}
}
