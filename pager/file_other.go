//go:build !linux

package pager

import (
	"errors"
	"io"
	"os"
	"runtime"
)

type descriptor struct{ f *os.File }

func openPlain(path string) (handle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return descriptor{f}, nil
}

func openDirect(string) (handle, error) {
	return nil, errors.New("not on " + runtime.GOOS)
}

func (d descriptor) pread(p []byte, off int64) (int, error) {
	n, err := d.f.ReadAt(p, off)
	if n > 0 || errors.Is(err, io.EOF) {
		return n, nil
	}
	return 0, err
}

func (d descriptor) drop(int64, int) {}

func (d descriptor) Close() error { return d.f.Close() }
