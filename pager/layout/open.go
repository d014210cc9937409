package layout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const partialSuffix = ".partial"

// A Package is a package whose manifest was checked and whose files have the
// sizes it says. It holds no file open.
type Package struct {
	Dir      string
	Manifest *Manifest
}

// Path is where the file of that name lies.
func (p *Package) Path(name string) string { return filepath.Join(p.Dir, name) }

// Open reads and checks the manifest of the package in dir, and that its files,
// compiled programs apart, are there, whole, and no links out of dir. It reads no weights: that is for
// [Verify]. What is no package wraps [ErrNotPackage]; a rule broken is an
// [*Error].
func Open(dir string) (*Package, error) {
	if err := looksLikePackage(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("package: %w", err)
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	for _, f := range m.Files {
		if err := checkOnDisk(root, f); err != nil && !m.compiled(f.Name) {
			return nil, fmt.Errorf("package %s: %w", dir, err)
		}
	}
	return &Package{Dir: dir, Manifest: m}, nil
}

// compiled reports whether a file has programs, which can be made anew: who needs them
// reads them by Companion, which checks them.
func (m *Manifest) compiled(file string) bool {
	return slices.ContainsFunc(m.Artifacts, func(a Artifact) bool { return a.File == file })
}

// looksLikePackage tells what is no package from what is a broken one, and says
// what to do instead.
func looksLikePackage(dir string) error {
	full, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("package %s: %w", dir, err)
	}
	if strings.HasSuffix(full, partialSuffix) {
		return fmt.Errorf("%s is an unfinished conversion; run the same estream pack again to finish it: %w", dir, ErrNotPackage)
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && exists(full+partialSuffix):
		return fmt.Errorf("%s was never finished; run the same estream pack again, which goes on with %s: %w", dir, filepath.Clean(dir)+partialSuffix, ErrNotPackage)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("package %s: there is no such folder; make a package with estream pack: %w", dir, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("package: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is a file, and a package is a directory; make one with estream pack: %w", dir, ErrNotPackage)
	case !exists(filepath.Join(dir, ManifestName)):
		return fmt.Errorf("%s has no %s; make a package with estream pack: %w", dir, ManifestName, ErrNotPackage)
	}
	return nil
}

// exists reports whether something has that name, if only a link to nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func readManifest(root *os.Root) (*Manifest, error) {
	f, size, err := openRegular(root, ManifestName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > MaxManifest {
		return nil, tooLong(size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestName, err)
	}
	return Decode(data)
}

// openRegular opens a file of the package to read. Links that leave the
// directory, and what is not a plain file, are refused before they are opened.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	size, err := regularSize(root, name)
	if err != nil {
		return nil, 0, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	return f, size, nil
}

func regularSize(root *os.Root, name string) (int64, error) {
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &Error{name, "", "is missing: copy the package again"}
	}
	if err != nil {
		if link, lerr := root.Lstat(name); lerr == nil && link.Mode()&fs.ModeSymlink != 0 {
			return 0, &Error{name, "", "is a link that leaves the package: copy the file in its place"}
		}
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return 0, &Error{name, "", "is not a regular file"}
	}
	return info.Size(), nil
}

func checkOnDisk(root *os.Root, f FileSum) error {
	size, err := regularSize(root, f.Name)
	switch {
	case err != nil:
		return err
	case size < f.Size:
		return &Error{f.Name, "", fmt.Sprintf("was cut: %d bytes on disk, %d in the manifest; copy the package again", size, f.Size)}
	case size > f.Size:
		return &Error{f.Name, "", fmt.Sprintf("is too long: %d bytes on disk, %d in the manifest; copy the package again", size, f.Size)}
	}
	return nil
}
