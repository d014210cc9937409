package cli

import (
	"context"
	"fmt"
	"io"
	"os"
)

// maxPrompts is how many bytes a file of prompts or token ids may have.
const maxPrompts = 1 << 30

// readFile reads a file of at most most bytes, which may be a pipe: until its writer
// is done, or ctx.
func readFile(ctx context.Context, path string, most int64) ([]byte, error) {
	return readAll(ctx, path, most, func() (io.ReadCloser, error) { return os.Open(path) })
}

// readAll reads what open opens and closes it. Opening and reading cannot be stopped
// where a pipe's writer stays away.
func readAll(ctx context.Context, name string, most int64, open func() (io.ReadCloser, error)) ([]byte, error) {
	return until(ctx, func() ([]byte, error) { return readMost(name, most, open) })
}

func readMost(name string, most int64, open func() (io.ReadCloser, error)) ([]byte, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close() // it is only read
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s: longer than %s, the most that is read", name, formatSize(most))
	}
	return data, err
}
