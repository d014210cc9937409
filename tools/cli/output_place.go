package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"estream/pager/layout"
)

// placeOf is the file that is meant by a name, which may be a link, also one that leads
// to a file that is still to be.
func placeOf(named string) (string, error) {
	path, err := filepath.Abs(named)
	if err != nil {
		return named, err
	}
	_, err = os.Stat(path)
	if err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil { // an open pipe's link leads nowhere
			path = real
		}
		return path, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return path, err
	}
	for range 255 { // links, of which the system follows fewer
		folder, base := filepath.Split(path)
		folder, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return path, err
		}
		path = filepath.Join(folder, base)
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(link) {
			link = folder + string(filepath.Separator) + link
		}
		path = link
	}
	return path, err
}

// spare refuses a place where something would be lost: a file that the command reads,
// "-" being stdin, a folder of those, and a package.
func spare(flag, named, path string, read []string) error {
	if folder := layout.Around(path); folder != "" {
		return usagef("--%s %s lies in the package %s: name another place", flag, named, folder)
	}
	for _, r := range read {
		if isFolder(r) {
			inside, err := within(path, r)
			if err != nil {
				return err
			}
			if inside {
				return usagef("--%s %s lies in the folder %s, which the command reads: name another place", flag, named, r)
			}
		}
		if name := replaces(path, r); name != "" {
			return usagef("--%s: %s is what the command reads: name another", flag, name)
		}
	}
	return nil
}

// replaces returns the name of what is read that is the file at path, be it in a folder;
// empty where none is.
func replaces(path, read string) string {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	names := []string{read}
	if isFolder(read) {
		entries, _ := os.ReadDir(read) // one that cannot be read is told of by who reads it
		for _, e := range entries {
			names = append(names, filepath.Join(read, e.Name()))
		}
	}
	for _, name := range names {
		in, err := os.Stat(name)
		if name == "-" {
			in, err = os.Stdin.Stat()
		}
		if err == nil && os.SameFile(st, in) {
			return name
		}
	}
	return ""
}

// inherited returns the open descriptor that a file is: another would not know where its
// end is, and a file in its place would be one that nobody has open.
func inherited(named, path string) *os.File {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() {
		return nil
	}
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if open, err := f.Stat(); err == nil && os.SameFile(st, open) {
			return f
		}
	}
	folder, number := filepath.Split(named)
	fd, err := strconv.ParseUint(number, 10, 31)
	if err == nil && fd > 2 && (folder == "/dev/fd/" || folder == "/proc/self/fd/") {
		return os.NewFile(uintptr(fd), named)
	}
	return nil
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
