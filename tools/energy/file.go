package energy

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// word reads a file of one word or line; false where there is none.
func word(sys fs.FS, path string) (string, bool) {
	text, err := fs.ReadFile(sys, path)
	return strings.TrimSpace(string(text)), err == nil
}

// number reads a file of one whole number.
func number(sys fs.FS, path string) (int64, error) {
	text, err := fs.ReadFile(sys, path)
	if errors.Is(err, fs.ErrPermission) {
		return 0, fmt.Errorf("%s: permission denied: only root may read it, unless its mode is changed", path)
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no number", path, clip(string(text)))
	}
	return n, nil
}

func clip(s string) string { return s[:min(len(s), 40)] }
