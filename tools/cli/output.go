package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"estream/pager/layout"
)

// An output is a file that is written beside its place and renamed when it is whole.
// It is made, and written to, before a run, so that a place that cannot be is known at once.
// A device or a pipe is written to in its place, for as long as the command's context
// lasts, and so is the file that the command's stdout or stderr goes to.
type output struct {
	io.Writer           // what is written to f goes through it
	flag, path string   // path is empty: f is the place itself
	f          *os.File // nil: it is not the output's to close
}

// newOutput begins the file that a flag names, or that a link leads to; it may be none
// that the command reads, nor lie in a folder of those or in a package.
func newOutput(ctx context.Context, flag, named string, read ...string) (*output, error) {
	if named == "" {
		return nil, nil
	}
	path, err := placeOf(named)
	if err != nil {
		return nil, unwritten(flag, path, err)
	}
	if isFolder(path) {
		return nil, usagef("--%s %s is a folder: name a file", flag, named)
	}
	if err := spare(flag, named, path, read); err != nil {
		return nil, err
	}
	if f := inherited(named, path); f != nil {
		o := &output{flag: flag}
		o.Writer = told{stoppable{f, ctx.Done()}, o}
		return o, nil
	}
	return beginOutput(ctx, flag, path)
}

// beginOutput is newOutput at a place that is known. A pipe waits here for a reader.
func beginOutput(ctx context.Context, flag, path string) (*output, error) {
	o := &output{flag: flag}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := until(ctx, func() (*os.File, error) { return os.OpenFile(path, os.O_WRONLY, 0) })
		if err != nil {
			return nil, o.failed(err)
		}
		o.Writer, o.f = told{stoppable{f, ctx.Done()}, o}, f
		return o, nil
	}
	o.path = path
	f, err := layout.CreateTemp(path, "")
	if err != nil {
		return nil, o.failed(err)
	}
	o.Writer, o.f = told{f, o}, f
	if err := o.try(); err != nil {
		o.discard()
		return nil, o.failed(err)
	}
	return o, nil
}

// A told is the writer of an output whose errors say which flag named it and what to do.
type told struct {
	io.Writer
	o *output
}

func (t told) Write(b []byte) (int, error) {
	n, err := t.Writer.Write(b)
	return n, t.o.failed(err)
}

// failed is an error of the output's file, told of its place.
func (o *output) failed(err error) error {
	if err == nil {
		return nil
	}
	if o.path == "" {
		return fmt.Errorf("--%s: %w", o.flag, err)
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = &fs.PathError{Op: e.Op, Path: o.path, Err: e.Err} // the name beside it is gone, or nobody's
	}
	return unwritten(o.flag, o.path, err)
}

// try finds out what making a file does not: whether there is room for any of it, and
// whether a file that stands in its place may be replaced.
func (o *output) try() error {
	if err := roomIn(o.f); err != nil {
		return err
	}
	st, err := os.Stat(o.path)
	if err != nil {
		return nil // nothing to replace
	}
	if folder, err := os.Stat(filepath.Dir(o.path)); err == nil && stuck(st, folder) {
		return &fs.PathError{Op: "replace", Path: o.path, Err: syscall.EPERM}
	}
	f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EROFS) { // EACCES does not keep a file from being replaced
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
		err = fmt.Errorf("--%s: %s are to be written and %s are free in %s: make room there or name another place", o.flag, formatSize(bytes), formatSize(free), dir)
	}
	return err
}

// same reports whether two outputs would take each other's place.
func (o *output) same(other *output) bool {
	return o != nil && other != nil && o.path != "" && o.path == other.path
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
	if f == nil {
		return nil
	}
	if o.path == "" {
		o.f = nil
		return o.failed(f.Close())
	}
	if err := f.Sync(); err != nil {
		return o.failed(err)
	}
	if runtime.GOOS == "windows" { // which renames no open file; elsewhere it is locked till then
		f.Close() // it is synced
	}
	defer f.Close() // likewise
	o.f = nil
	err := os.Rename(f.Name(), o.path)
	if errors.Is(err, syscall.EBUSY) { // a file is mounted there, as in containers
		err = overwrite(o.path, f.Name())
	}
	if err != nil {
		return fmt.Errorf("--%s: what was written is in %s: %w", o.flag, f.Name(), err)
	}
	return nil
}

// overwrite writes what is in the file from, and removes it.
func overwrite(path, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it is only read
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Remove(from)
}
