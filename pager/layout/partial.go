package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

const (
	lockName   = "lock"
	insideName = "package"
)

func (w *Writer) path(name string) string { return filepath.Join(w.partial, name) }

// inside is the directory that will be the package.
func (w *Writer) inside() string { return w.path(insideName) }

func insidePath(name string) string { return path.Join(insideName, name) }

// made is all that a writer of this plan makes in the unfinished package, in the
// order in which it is removed: the journal when what it tells of is gone, the
// lock last. Nothing else is ever removed or written.
func (w *Writer) made() []string {
	var names []string
	for _, name := range append([]string{ExpertsName, DenseName, ManifestName}, w.plan.CompanionNames...) {
		names = append(names, insidePath(name))
	}
	return append(names, insideName, newName(journalName), journalName, lockName)
}

// openPartial opens the directory of an unfinished package, if it is one and no
// link to one.
func openPartial(dir string) (*os.Root, error) {
	named, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !named.IsDir() {
		return nil, foreign(dir + " is " + kindOf(named.Mode()))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s was replaced meanwhile: %w", dir, fs.ErrExist)
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// survey checks that the directory holds nothing but what writers make, as
// regular files: a link could lead to anybody's, and a pipe would never end.
func (w *Writer) survey() error {
	for _, dir := range []string{".", insideName} {
		entries, err := fs.ReadDir(w.root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			right := e.Type().IsRegular()
			if name == insideName {
				right = e.IsDir()
			}
			if !right || !slices.Contains(w.made(), name) {
				return foreign(w.partial + " holds " + name + ", " + kindOf(e.Type()))
			}
		}
	}
	return nil
}

func foreign(what string) error {
	return fmt.Errorf("%s, which no estream put there; move it away or name another: %w", what, fs.ErrExist)
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "a file"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a link"
	}
	return "no regular file"
}

// clear removes what writers make, but for the names to keep.
func (w *Writer) clear(keep ...string) error {
	for _, name := range w.made() {
		if slices.Contains(keep, name) {
			continue
		}
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openRecords opens experts.bin or dense.bin: a new one at a new beginning, else
// an earlier writer's, or a new one in its place.
func (w *Writer) openRecords(name string) (*os.File, error) {
	if w.fresh {
		return newFile(w.root, insidePath(name))
	}
	f, err := w.root.OpenFile(insidePath(name), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := w.own(f, insidePath(name)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// own checks that f is a regular file and nobody's under another name.
func (w *Writer) own(f *os.File, name string) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	names, err := links(f)
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return foreign(w.partial + " holds " + name + ", " + kindOf(st.Mode()))
	case names > 1:
		return foreign(w.partial + " holds " + name + ", a file with another name elsewhere")
	}
	return nil
}

// newFile creates a file that must not be there.
func newFile(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func writeFile(root *os.Root, name string, data []byte) error {
	f, err := newFile(root, name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// replaceFile writes a file that is either as it was or whole.
func replaceFile(root *os.Root, name string, data []byte) error {
	temp := newName(name)
	if err := root.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeFile(root, temp, data); err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(root.Name())
}

func newName(name string) string { return name + ".new" }
