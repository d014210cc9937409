// Package gguf reads GGUF files (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2 and 3, whole or
// split: weights in ggml's block types, hyperparameters, tokenizer and chat template.
//
// What holds of every checkpoint holds here (see package checkpoint), and beside it:
//
//	G1  every count, length, offset, type and alignment is checked against the file's size before it is used;
//	G2  values are those that ggml computes, bit for bit;
//	G3  nothing of the metadata that concerns the model is left out: what config.json has no name for stands in it
//	    under its own name, so that who does not know it refuses it.
package gguf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"estream/models/checkpoint"
)

const extension = ".gguf"

// Format opens a .gguf file, any one of split files (name-00001-of-00003.gguf), or a folder that holds no other
// weights. What config.json and tokenizer.json would say is in the file.
var Format = checkpoint.Format{
	Name: "gguf", Doc: "a .gguf file, whole or split, or a folder with one",
	Extensions: []string{extension}, DTypes: decoded(), Architectures: architectures(),
	Match: match, Open: open,
}

func match(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil && (filepath.Ext(path) == extension || info.Mode().IsRegular() && magicOf(path) == magic)
	}
	entries, _ := os.ReadDir(path)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == extension })
}

// magicOf returns how a file begins.
func magicOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	var begin [4]byte
	if _, err := io.ReadFull(f, begin[:]); err != nil {
		return ""
	}
	return string(begin[:])
}

// file is one open file.
type file struct {
	header
	path string
	f    weights
	size int64
}

// weights is what a checkpoint.WeightFile is.
type weights interface {
	io.ReaderAt
	io.Closer
	Range(ctx context.Context, buf *checkpoint.Buffer, at int64, n int) ([]byte, error)
}

// model is an open checkpoint. Metadata is that of its first file.
type model struct {
	files   []*file
	tensors []checkpoint.Tensor
	at      map[string]place
	latents map[string]latent // see there
	buffers sync.Pool         // of *checkpoint.Buffer
}

// place is where a tensor is.
type place struct {
	entry
	file *file
}

func open(path string, _ checkpoint.Options) (checkpoint.Checkpoint, error) {
	home, name, err := checkpoint.Locate(path)
	if err != nil {
		return nil, err
	}
	m := newModel()
	if err := m.load(home, name, path); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func newModel() *model {
	m := &model{at: map[string]place{}, latents: map[string]latent{}}
	m.buffers.New = func() any { return new(checkpoint.Buffer) }
	return m
}

// load opens the file of that name, with those that it is split into, or the only one of the folder.
func (m *model) load(home checkpoint.Folder, name, path string) error {
	if name == "" {
		var err error
		if name, err = only(path); err != nil {
			return err
		}
	}
	names, err := parts(home, name)
	if err != nil {
		return err
	}
	for i, name := range names {
		if err := m.add(home, name); err != nil {
			return err
		}
		if err := m.files[i].checkSplit(i, len(names)); err != nil {
			return err
		}
	}
	if err := m.checkCount(); err != nil {
		return err
	}
	m.joinLatents()
	slices.SortFunc(m.tensors, func(a, b checkpoint.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// add opens a file and takes it in.
func (m *model) add(home checkpoint.Folder, name string) error {
	f, err := home.OpenWeights(name)
	if err != nil {
		return err
	}
	return m.take(&file{path: f.Path, f: f, size: f.Size})
}

// take takes in a file's tensors.
func (m *model) take(x *file) (err error) {
	m.files = append(m.files, x)
	if x.header, err = parseHeader(x.path, x.f, x.size); err != nil {
		return err
	}
	for _, e := range x.entries {
		if other, twice := m.at[e.Name]; twice {
			return &checkpoint.FormatError{File: x.path, Tensor: e.Name, Rule: checkpoint.RuleTensor, Detail: filepath.Base(other.file.path) + " holds it too"}
		}
		m.at[e.Name] = place{e, x}
		m.tensors = append(m.tensors, e.Tensor)
	}
	return nil
}

func (m *model) Tensors() []checkpoint.Tensor { return m.tensors }

func (m *model) Files() []checkpoint.File {
	files := make([]checkpoint.File, len(m.files))
	for i, f := range m.files {
		files[i] = checkpoint.File{Path: f.path, Size: f.size}
	}
	return files
}

func (m *model) Close() error {
	var errs []error
	for _, f := range m.files {
		errs = append(errs, f.f.Close())
	}
	return errors.Join(errs...)
}

func (m *model) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	if l, ok := m.latents[name]; ok {
		return m.readLatent(ctx, l, row, rows, dst)
	}
	p, ok := m.at[name]
	if !ok {
		return fmt.Errorf("checkpoint %s: no tensor %.80q", m.files[0].path, name)
	}
	first, err := checkpoint.Span(p.Shape, row, rows, len(dst))
	if err != nil {
		return fmt.Errorf("%s: tensor %.80q: %w", p.file.path, name, err)
	}
	return m.readAt(ctx, p, first, dst)
}
