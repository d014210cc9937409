package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
// package, a config.json or the folder that it is in, or a file of IR text.
func (a *App) module(ctx context.Context, stdin io.Reader, path string) (*ir.Module, error) {
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
