// Package npz reads checkpoints that numpy.savez wrote: one zip of .npy arrays, an
// array a tensor, named as in a safetensors file.
//
// What package checkpoint promises of any checkpoint (C1 to C4) holds because the
// arrays of such a zip are stored as they are, not compressed: each is a range of
// the file, whose size is checked when the file is opened. The zip's checksums are
// of whole arrays and so are not compared.
package npz

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"estream/models/checkpoint"
)

const (
	extension = ".npz"
	modelName = "model" + extension
	maxConfig = 1 << 20
)

// Format is NumPy's.
var Format = checkpoint.Format{
	Name: "npz", Doc: "a .npz file that numpy.savez wrote, or a folder with model.npz",
	Extensions: []string{extension}, DTypes: []checkpoint.DType{"F16", "F32", "F64"},
	Match: match, Open: open,
}

func match(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		info, err = os.Stat(filepath.Join(path, modelName))
		return err == nil && info.Mode().IsRegular()
	}
	return err == nil && filepath.Ext(path) == extension
}

// An archive is an open checkpoint.
type archive struct {
	path    string
	file    *os.File
	size    int64
	tensors []checkpoint.Tensor
	arrays  map[string]array
}

func open(path string, _ checkpoint.Options) (checkpoint.Checkpoint, error) {
	home, name, err := checkpoint.Locate(path)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = modelName
	}
	a := &archive{path: home.Path(name), arrays: map[string]array{}}
	if a.file, a.size, err = home.Open(name); err != nil {
		return nil, err
	}
	if err := a.list(); err != nil {
		return nil, errors.Join(err, a.file.Close())
	}
	return a, nil
}

// list finds the arrays and reads their headers.
func (a *archive) list() error {
	z, err := zip.NewReader(a.file, a.size)
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return a.fail(f.Name, "entry", "want the name of a .npy array")
		}
		if _, twice := a.arrays[name]; twice {
			return a.fail(name, "entry", "is there twice")
		}
		if f.Method != zip.Store {
			return a.fail(name, "compression", "want an array that is stored as it is: write the file with numpy.savez, not savez_compressed")
		}
		x, err := a.header(name, f)
		if err != nil {
			return err
		}
		a.arrays[name] = x
		a.tensors = append(a.tensors, checkpoint.Tensor{Name: name, DType: x.kind.dtype, Shape: x.shape, Bytes: x.size})
	}
	slices.SortFunc(a.tensors, func(x, y checkpoint.Tensor) int { return strings.Compare(x.Name, y.Name) })
	return nil
}

func (a *archive) fail(tensor string, rule checkpoint.Rule, detail string) error {
	return &checkpoint.FormatError{File: a.path, Tensor: tensor, Rule: rule, Detail: detail}
}

func (a *archive) Config() ([]byte, error) {
	data, found, err := checkpoint.Beside(a.path, "config.json", maxConfig)
	if err == nil && !found {
		err = fmt.Errorf("%s: no config.json lies beside it: copy the model's there", a.path)
	}
	return data, err
}

func (a *archive) Tensors() []checkpoint.Tensor { return a.tensors }

func (a *archive) Files() []checkpoint.File { return []checkpoint.File{{Path: a.path, Size: a.size}} }

func (a *archive) Close() error { return a.file.Close() }

// readSize is how many bytes a Read asks for at once.
const readSize = 256 << 10

func (a *archive) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	x, ok := a.arrays[name]
	if !ok {
		return fmt.Errorf("%s: no array %q", a.path, name)
	}
	first, err := checkpoint.Span(x.shape, row, rows, len(dst))
	if err != nil {
		return fmt.Errorf("%s: array %q: %w", a.path, name, err)
	}
	width := x.kind.bytes
	buf := make([]byte, min(readSize, len(dst)*width))
	for off := x.begin + first*int64(width); len(dst) > 0; {
		n := min(len(dst), readSize/width)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := checkpoint.ReadAt(a.file, buf[:n*width], off); err != nil {
			return fmt.Errorf("%s: array %q: %w", a.path, name, err)
		}
		x.kind.decode(dst[:n], buf)
		dst, off = dst[n:], off+int64(n*width)
	}
	return nil
}
