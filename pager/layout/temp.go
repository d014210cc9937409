package layout

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// CreateTemp makes a file <path>.<number><suffix>, which is to be renamed to path when it
// is whole. It has the mode of the file that stands there, else what the umask leaves of
// 0666. Until it is closed, or the process ends, Sweep leaves it alone.
func CreateTemp(path, suffix string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path+"."+strconv.FormatUint(uint64(rand.Uint32()), 10)+suffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if held, err := hold(f, path); held {
			return f, nil
		} else if err != nil {
			return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
		f.Close() // a Sweep was faster, and removes it
	}
}

// hold locks a new file and gives it the mode of what it is to replace. It reports false
// where the file is no longer there.
func hold(f *os.File, path string) (bool, error) {
	if old, err := os.Stat(path); err == nil && old.Mode().IsRegular() {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			return false, err
		}
	}
	if free, err := lock(f); !free {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, there), nil
}

// Sweep removes from a folder the files, of those whose names left accepts, that no
// living process has from CreateTemp. Where that cannot be known they stay.
func Sweep(dir string, left func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() && left(e.Name()) {
			err = errors.Join(err, removeFree(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// removeFree removes a file under its lock, if it can have that.
func removeFree(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // it is gone, or somebody else's
	}
	defer f.Close()
	if !free(f) {
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
