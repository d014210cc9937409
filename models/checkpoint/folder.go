package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrOutside is a file of a checkpoint that is neither in the checkpoint's folder nor in the hub cache around it.
var ErrOutside = errors.New("outside the checkpoint")

// A Folder opens files by name, and none that is elsewhere.
type Folder struct {
	path string // as the caller named it
	real string // with links followed
	root string // what every file must be in, links followed: real, or the hub cache's folder of the model
}

// Locate returns the folder that path is or that the file at path is in, and the file's name in it or "".
func Locate(path string) (home Folder, name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return Folder{}, "", fmt.Errorf("checkpoint %s: %w", path, cause(err))
	}
	if !info.IsDir() {
		path, name = filepath.Dir(path), filepath.Base(path)
	}
	home, err = openFolder(path)
	return home, name, err
}

func openFolder(path string) (Folder, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return Folder{}, fmt.Errorf("checkpoint %s: %w", path, cause(err))
	}
	return Folder{path: path, real: abs, root: cacheRoot(abs)}, nil
}

// cacheRoot returns the folder models--owner--name that dir is in as models--owner--name/snapshots/revision, for
// that is where the links of a snapshot lead (blobs/hash). Elsewhere it returns dir.
func cacheRoot(dir string) string {
	for d := dir; ; {
		parent := filepath.Dir(d)
		model := filepath.Dir(parent)
		if filepath.Base(parent) == "snapshots" && strings.HasPrefix(filepath.Base(model), "models--") {
			return model
		}
		if parent == d {
			return dir
		}
		d = parent
	}
}

// Path is the path of a file for the caller: links are not followed.
func (f Folder) Path(name string) string { return filepath.Join(f.path, name) }

// has reports whether the folder itself has that entry, be it a link to nothing.
func (f Folder) has(name string) bool {
	_, err := os.Lstat(filepath.Join(f.real, name))
	return err == nil
}

// maxFile bounds the name of a file, which errors hold whole, in bytes.
const maxFile = 255

// local refuses names that lead out of the folder as they are written, or that no file has.
func (f Folder) local(name string) error {
	if len(name) > maxFile {
		return fmt.Errorf("checkpoint %s: file %.80q: a name of %d bytes, want at most %d", f.path, name, len(name), maxFile)
	}
	up := func(part string) bool { return part == ".." }
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	if !filepath.IsLocal(name) || slices.ContainsFunc(parts, up) {
		return fmt.Errorf("checkpoint %s: file %.200q: %w", f.path, name, ErrOutside)
	}
	return nil
}

// find returns the real path of a file of the folder. Where there is none, the error is fs.ErrNotExist.
func (f Folder) find(name string) (string, error) {
	if err := f.local(name); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(f.real, name))
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Path(name), cause(err))
	}
	if rel, err := filepath.Rel(f.root, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s: a link to %s; copy the file itself into the folder: %w", f.Path(name), real, ErrOutside)
	}
	return real, nil
}

// Open opens a file of the folder, which must be a regular one, and returns its size.
func (f Folder) Open(name string) (*os.File, int64, error) {
	real, err := f.find(name)
	if err != nil {
		return nil, 0, err
	}
	return openRegular(real, f.Path(name))
}

// openRegular opens a regular file, which errors name as the caller knows it, and returns its size.
func openRegular(path, known string) (*os.File, int64, error) {
	info, err := os.Stat(path) // before opening, which would wait at a pipe
	if err == nil && !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: not a regular file (%s)", known, info.Mode().Type())
	}
	var file *os.File
	if err == nil {
		file, err = os.Open(path)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", known, cause(err))
	}
	return file, info.Size(), nil
}

// read returns a whole file of at most limit bytes.
func (f Folder) read(name string, limit int64) ([]byte, error) {
	file, size, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return whole(file, f.Path(name), size, limit)
}

// whole reads a file of that size, which may be at most limit.
func whole(file *os.File, known string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%s: %d bytes, want at most %d", known, size, limit)
	}
	text := make([]byte, size)
	if err := ReadAt(file, text, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", known, err)
	}
	return text, nil
}

// ReadConfig returns a config.json that is not beside weights, wherever path leads: a regular file, no larger than one
// of a checkpoint may be.
func ReadConfig(path string) ([]byte, error) {
	file, size, err := openRegular(path, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return whole(file, path, size, maxConfig)
}

// Beside returns a whole file of at most limit bytes that lies beside the weights at path, a file or a folder, and
// whether there is one. What holds of the weights' files holds of it: it is a regular file, and a link leads no
// further than C3 allows. A link to nothing is an error.
func Beside(path, name string, limit int64) (data []byte, found bool, err error) {
	home, _, err := Locate(path)
	if err != nil {
		return nil, false, err
	}
	if err := home.local(name); err != nil || !home.has(name) {
		return nil, false, err
	}
	data, err = home.read(name, limit)
	return data, err == nil, err
}

// cause strips the path that os put into err: errors here name the path the caller knows.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
