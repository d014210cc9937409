package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/term"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
	"estream/pager/layout"
)

// maxText bounds IR text, in bytes.
const maxText = 256 << 20

// module reads the module that an argument names: "-" is IR text on stdin; else a
// package, a config.json or the folder that it is in, a checkpoint that is a file, or a
// file of IR text.
func (a *App) module(ctx context.Context, stdin io.Reader, path string) (*ir.Module, error) {
	return until(ctx, func() (*ir.Module, error) { return a.readModule(ctx, stdin, path) })
}

func (a *App) readModule(ctx context.Context, stdin io.Reader, path string) (*ir.Module, error) {
	if path == "-" {
		if f, ok := stdin.(*os.File); ok && isTerminal(f) {
			return nil, usagef("name a module, or give IR text on stdin")
		}
		return a.parse(ctx, "stdin", func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil })
	}
	switch {
	case isFolder(path):
		return a.folderModule(path)
	case strings.EqualFold(filepath.Ext(path), ".json"):
		return a.configModule(path)
	case a.isCheckpoint(path):
		return a.checkpointModule(path)
	}
	return a.parse(ctx, path, func() (io.ReadCloser, error) { return os.Open(path) })
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// parse reads IR text.
func (a *App) parse(ctx context.Context, name string, open func() (io.ReadCloser, error)) (*ir.Module, error) {
	text, err := readAll(ctx, name, maxText, open)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s: no IR text: give a package, a config.json, or what estream opt or inspect --ir prints", name)
	}
	m, err := a.parseText(string(text))
	if err == nil && len(m.Graphs) == 0 {
		err = errors.New("no graph")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func (a *App) parseText(text string) (*ir.Module, error) {
	ops, err := ir.Core(a.Ops...)
	if err != nil {
		return nil, err
	}
	m, err := ir.Parse(text, ops)
	if err != nil {
		return nil, err
	}
	return m, m.Verify()
}

// folderModule reads a package's module, or builds that of a folder's config.json.
func (a *App) folderModule(dir string) (*ir.Module, error) {
	config := filepath.Join(dir, "config.json")
	pkg, err := layout.Open(dir)
	if errors.Is(err, layout.ErrNotPackage) {
		if _, missing := os.Stat(config); missing == nil {
			return a.configModule(config)
		}
	}
	if err != nil {
		return nil, err
	}
	m, err := a.parseText(pkg.Manifest.Module)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	return m, nil
}

// configModule builds the module that a config.json describes.
func (a *App) configModule(path string) (*ir.Module, error) {
	data, err := checkpoint.ReadConfig(path)
	if err != nil {
		return nil, err
	}
	m, err := a.build(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// isCheckpoint reports whether path is a file of a format of checkpoints. A pipe is none:
// looking would take what is in it.
func (a *App) isCheckpoint(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && a.matches(path)
}

// matches reports whether a file or folder is of a format of checkpoints.
func (a *App) matches(path string) bool {
	return slices.ContainsFunc(a.Formats, func(f checkpoint.Format) bool { return f.Match(path) })
}

// checkpointModule builds the module of a checkpoint that is a file with a config in it.
func (a *App) checkpointModule(path string) (*ir.Module, error) {
	c, err := checkpoint.Open(path, checkpoint.Options{}, a.Formats...)
	if err != nil {
		return nil, err
	}
	defer c.Close() // it is only read
	m, err := models.Open(c, a.Families)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m.Module()
}

func (a *App) build(config []byte) (*ir.Module, error) {
	c, err := models.ReadConfig(config)
	if err != nil {
		return nil, err
	}
	if len(c.Architectures) == 0 {
		return nil, errors.New("architectures is not there: want a list of one")
	}
	var first error
	for _, arch := range c.Architectures {
		f, err := models.Find(a.Families, arch)
		if err == nil {
			return models.Build(f, c)
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}
