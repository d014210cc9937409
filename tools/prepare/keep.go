package prepare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"syscall"

	"estream/pager/layout"
	"estream/tools/calibrate"
)

// A file is a companion that is to be.
type file struct {
	layout.FileSum
	data []byte
}

// update keeps files in the package as it is now: another may have prepared it for other
// architectures since it was opened. It waits for one that is at that, of which waits is told.
func update(ctx context.Context, opened *layout.Package, made []layout.Artifact, files []file, waits func(folder string)) error {
	folder, err := os.Open(opened.Dir)
	if err != nil {
		return err
	}
	defer folder.Close() // and the lock with it
	if _, err := lock(ctx, folder, waits); err != nil {
		return err
	}
	now, err := layout.Open(opened.Dir)
	if err != nil {
		return err
	}
	if now.Manifest.Module != opened.Manifest.Module {
		return errors.New("it was replaced meanwhile: run the same command again")
	}
	if err = sweep(now); err == nil { // first, since it may make room
		err = keep(now, made, files)
	}
	return unwritten(err)
}

// unwritten adds the remedy to an error of a package's folder.
func unwritten(err error) error {
	switch {
	case layout.Full(err):
		return fmt.Errorf("its disk is full: make room there: %w", err)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("its folder cannot be written to: cp -R PACKAGE NEW && estream prepare NEW: %w", err)
	}
	return err
}

// leftover is the name of a file that a prepare which was killed may leave: one that was
// not yet in its place, or a binary that no manifest names.
var leftover = regexp.MustCompile(`^(?:.+\.[0-9]+\.new|[a-z0-9-]+\.v[0-9]+\.[0-9a-f]{8}\.bin)$`)

// sweep removes what killed commands have left. The caller has the package's lock.
func sweep(pkg *layout.Package) error {
	err := layout.Sweep(pkg.Dir, func(name string) bool {
		known := slices.ContainsFunc(pkg.Manifest.Files, func(f layout.FileSum) bool { return f.Name == name })
		return !known && leftover.MatchString(name)
	})
	return errors.Join(err, calibrate.Sweep(pkg.Dir))
}

// keep writes files, then the manifest that names them, then removes those of
// artifacts that they stand for.
func keep(pkg *layout.Package, made []layout.Artifact, files []file) error {
	man := *pkg.Manifest
	var old []string
	man.Artifacts = slices.DeleteFunc(slices.Clone(man.Artifacts), func(b layout.Artifact) bool {
		replaced := slices.ContainsFunc(made, artifact{b}.of)
		if replaced {
			old = append(old, b.File)
		}
		return replaced
	})
	man.Artifacts = append(man.Artifacts, made...)
	old = slices.DeleteFunc(old, func(name string) bool {
		return slices.ContainsFunc(man.Artifacts, func(b layout.Artifact) bool { return b.File == name })
	})
	man.Files = slices.DeleteFunc(slices.Clone(man.Files), func(f layout.FileSum) bool {
		again := slices.ContainsFunc(files, func(n file) bool { return n.Name == f.Name })
		return again || slices.Contains(old, f.Name)
	})
	for _, f := range files {
		man.Files = append(man.Files, f.FileSum)
		if err := replace(pkg.Path(f.Name), f.data); err != nil {
			return err
		}
	}
	slices.SortFunc(man.Files, func(a, b layout.FileSum) int { return cmp.Compare(a.Name, b.Name) })
	text, err := layout.Encode(&man)
	if err != nil {
		return err
	}
	if err := replace(pkg.Path(layout.ManifestName), text); err != nil {
		return err
	}
	for _, name := range old {
		if err := os.Remove(pkg.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// replace writes a file that is as it was or whole at each moment.
func replace(path string, data []byte) (err error) {
	f, err := layout.CreateTemp(path, ".new")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
