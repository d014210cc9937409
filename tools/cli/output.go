package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"estream/pager/layout"
)

// An output is a file that is written beside its place and renamed when it is whole.
// It is made, and written to, before a run, so that a place that cannot be is known at once.
// A device or a pipe is written to in its place, for as long as the command's context
// lasts.
type output struct {
	io.Writer        // what is written to f goes through it
	path      string // empty: f is the place itself
	f         *os.File
}

// newOutput begins the file that a flag names, or that a link leads to; it may not
// lie in one of the packages.
func newOutput(ctx context.Context, flag, path string, pkgs ...string) (*output, error) {
	if path == "" {
		return nil, nil
	}
	named := path
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // a link is followed, and what it leads to replaced
		path = real
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, usagef("--%s %s is a folder: name a file", flag, named)
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, unwritten(flag, path, err)
	}
	for _, pkg := range pkgs {
		inside, err := within(path, pkg)
		if err != nil {
			return nil, err
		}
		if inside {
			return nil, usagef("--%s %s lies in the package %s: name another place", flag, named, pkg)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), layout.ManifestName)); err == nil {
		return nil, usagef("--%s %s lies in the package %s: name another place", flag, named, filepath.Dir(path))
	}
	return beginOutput(ctx, flag, path)
}

// beginOutput is newOutput at a place that is known. A pipe waits here for a reader.
func beginOutput(ctx context.Context, flag, path string) (*output, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := until(ctx, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) })
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		return &output{stoppable{f, ctx.Done()}, "", f}, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, unwritten(flag, path, err)
	}
	o := &output{f, path, f}
	if err := o.try(); err != nil {
		o.discard()
		return nil, unwritten(flag, path, err)
	}
	return o, nil
}

// try finds out what making a file does not: whether there is room for any of it, and
// whether a file that stands in its place may be replaced.
func (o *output) try() error {
	if err := errors.Join(roomIn(o.f), o.f.Chmod(0o644)); err != nil {
		return err
	}
	f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
	if errors.Is(err, syscall.EPERM) { // EACCES does not keep a file from being replaced
		return err
	}
	if err == nil {
		return f.Close()
	}
	return nil
}

// roomIn finds out whether an empty file can have a block, and leaves it empty.
func roomIn(f *os.File) error {
	_, err := f.WriteAt(make([]byte, 4096), 0)
	return errors.Join(err, f.Truncate(0))
}

// unwritten adds to what a place refused which folder that is, and what to do.
func unwritten(flag, path string, err error) error {
	dir := filepath.Dir(path)
	do := "name another place"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		do = "mkdir -p " + quoted(dir)
	case layout.Full(err):
		do = "make room there or " + do
	}
	return fmt.Errorf("--%s: no file can be written in the folder %s: %s: %w", flag, dir, do, err)
}

// room refuses what is larger than the space that is left.
func (o *output) room(bytes int64) error {
	if o == nil || o.path == "" {
		return nil
	}
	dir := filepath.Dir(o.path)
	free, err := layout.FreeSpace(dir)
	if err == nil && bytes > free {
		err = fmt.Errorf("--output: %s are to be written and %s are free in %s: make room there or name another place", formatSize(bytes), formatSize(free), dir)
	}
	return err
}

// same reports whether two outputs would take each other's place.
func (o *output) same(other *output) bool {
	return o != nil && other != nil && o.path != "" && o.path == other.path
}

// within reports whether a file's folder is dir or lies in it.
func within(path, dir string) (bool, error) {
	var real [2]string
	for i, p := range []string{filepath.Dir(path), dir} {
		abs, err := filepath.Abs(p)
		if err != nil {
			return false, err
		}
		if real[i], err = filepath.EvalSymlinks(abs); err != nil {
			return false, err
		}
	}
	return real[0] == real[1] || strings.HasPrefix(real[0], real[1]+string(filepath.Separator)), nil
}

// discard removes what was begun, unless write has finished it.
func (o *output) discard() {
	if o == nil || o.f == nil {
		return
	}
	o.f.Close() // it is removed
	if o.path != "" {
		os.Remove(o.f.Name())
	}
}

// finish puts what was written in its place.
func (o *output) finish() error {
	f := o.f
	if o.path == "" {
		o.f = nil
		return f.Close()
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	o.f = nil
	if err := os.Rename(f.Name(), o.path); err != nil {
		return fmt.Errorf("what was written is in %s: %w", f.Name(), err)
	}
	return nil
}
