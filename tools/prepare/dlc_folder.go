package prepare

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"estream/ir"
	"estream/pager/layout"
)

// A folder is where DLCs are to stand; its lock is held.
type folder struct {
	path   string
	fresh  string      // the folder within in which they are made
	mode   fs.FileMode // of new files
	opened *os.File
}

// begin makes the folder to and, within, one for what is made for it, and tries whether
// there is room. What stands in the way of a file is refused, what a killed one has left
// goes.
func begin(ctx context.Context, to string, graphs []*ir.Graph, waits func(string)) (*folder, error) {
	for _, g := range graphs {
		place := filepath.Join(to, g.Name+".dlc")
		if info, err := os.Lstat(place); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a folder: name another folder for DLCs", place)
		}
	}
	w := &folder{path: to}
	if err := w.open(ctx, waits); err != nil {
		if ctx.Err() == nil {
			err = w.refused(err)
		}
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

func (w *folder) open(ctx context.Context, waits func(string)) (err error) {
	if err = os.MkdirAll(w.path, 0o777); err != nil {
		return err
	}
	if w.opened, err = os.Open(w.path); err != nil {
		return err
	}
	locked, err := lock(ctx, w.opened, waits)
	if err != nil {
		return err
	}
	if locked {
		w.sweep()
	}
	if w.fresh, err = os.MkdirTemp(w.path, ".dlc"); err != nil {
		return err
	}
	w.mode, err = w.room()
	return err
}

// unfinished is the name of a folder that a killed one leaves.
var unfinished = regexp.MustCompile(`^\.dlc[0-9]+$`)

// sweep removes what can be removed of what killed ones have left.
func (w *folder) sweep() {
	entries, _ := os.ReadDir(w.path)
	for _, e := range entries {
		if e.IsDir() && unfinished.MatchString(e.Name()) {
			os.RemoveAll(filepath.Join(w.path, e.Name()))
		}
	}
}

// room finds out whether a file with a graph can be written, and which mode it has.
func (w *folder) room() (fs.FileMode, error) {
	const graph = 1 << 20 // weights are no part of it
	f, err := os.Create(filepath.Join(w.fresh, "room"))
	if err != nil {
		return 0, err
	}
	_, err = f.Write(make([]byte, graph))
	info, bad := f.Stat()
	if err = errors.Join(err, bad, f.Close(), os.Remove(f.Name())); err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// write has a file made, and returns its size. Its mode is that of the file in whose
// place it goes, else that of any new one, whatever it was written with.
func (w *folder) write(name string, write func(path string) error) (int64, error) {
	path := filepath.Join(w.fresh, name)
	if err := write(path); err != nil {
		if _, full := w.room(); full != nil {
			err = w.refused(fmt.Errorf("%w: %w", full, err))
		}
		return 0, err
	}
	mode := w.mode
	if old, err := os.Stat(filepath.Join(w.path, name)); err == nil && old.Mode().IsRegular() {
		mode = old.Mode().Perm()
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), os.Chmod(path, mode)
}

// refused adds to what the folder refused what to do.
func (w *folder) refused(err error) error {
	if layout.Full(err) {
		return fmt.Errorf("the disk of %s is full: make room there or name another folder for DLCs: %w", w.path, err)
	}
	return fmt.Errorf("%s cannot be written to: name another folder for DLCs: %w", w.path, err)
}

// end removes what was not finished, and gives up the lock.
func (w *folder) end() (err error) {
	if w.fresh != "" {
		err = os.RemoveAll(w.fresh)
	}
	if w.opened != nil {
		err = errors.Join(err, w.opened.Close())
	}
	return err
}
