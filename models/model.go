package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"estream/ir"
	"estream/models/checkpoint"
)

// A Model is a family, its hyperparameters and the checkpoint that holds its weights.
type Model struct {
	Family Family
	Config *Config
	Notes  []string // what was taken for granted, for the user to read

	ckpt    checkpoint.Checkpoint
	weights Weights
	tensors map[string]checkpoint.Tensor
	dtypes  map[string]ir.DType
	shapes  map[string][]int
}

// Open finds the family that serves a checkpoint and resolves every weight of
// its graphs. It reads no weights: a checkpoint that lacks a tensor, has one of
// another shape or type, or has one that nothing reads, is refused before. The
// checkpoint stays the caller's to close, after the Model is done with.
func Open(ckpt checkpoint.Checkpoint, families []Family) (*Model, error) {
	data, err := ckpt.Config()
	if err != nil {
		return nil, err
	}
	var spell func(key string) string
	if s, ok := ckpt.(checkpoint.Speller); ok {
		spell = s.Spelling()
	}
	c, err := readConfig(data, spell)
	if err != nil {
		return nil, err
	}
	f, err := find(families, c.Architectures)
	if err != nil {
		return nil, err
	}
	module, err := Build(f, c)
	if err != nil {
		return nil, err
	}
	m := &Model{Family: f, Config: c, ckpt: ckpt, weights: f.Weights,
		tensors: map[string]checkpoint.Tensor{}, dtypes: map[string]ir.DType{}, shapes: map[string][]int{}}
	for _, t := range ckpt.Tensors() {
		m.tensors[t.Name] = t
	}
	for name := range f.Weights {
		m.shapes[name] = c.shape(f.Weights[name])
	}
	m.tie()
	m.Notes = append(m.Notes, c.defaults()...)
	if n, ok := ckpt.(checkpoint.Noter); ok {
		m.Notes = append(m.Notes, n.Notes()...)
	}
	if err := m.resolve(module); err != nil {
		return nil, err
	}
	return m, nil
}

// find returns the family of the first architecture that has one.
func find(families []Family, archs []string) (Family, error) {
	if len(archs) == 0 {
		return Family{}, errors.New("models: config.json: architectures is not there: want a list of one")
	}
	var first error
	for _, a := range archs {
		f, err := Find(families, a)
		if err == nil {
			return f, nil
		}
		first = cmp.Or(first, err)
	}
	return Family{}, first
}

func (m *Model) note(format string, args ...any) {
	m.Notes = append(m.Notes, fmt.Sprintf(format, args...))
}

// Module returns the model's graphs, anew each time. Unlike the other methods it is
// for one goroutine at a time.
func (m *Model) Module() (*ir.Module, error) { return Build(m.Family, m.Config) }

// Shape returns the extents of a weight as the graphs have it; nil for an unknown one.
func (m *Model) Shape(weight string) []int { return slices.Clone(m.shapes[weight]) }

// DType returns the narrowest of f32, bf16 and f16 that holds a weight of every
// layer and expert as the checkpoint has it, f64 apart, which is rounded to f32;
// ir.Invalid for a weight that the graphs do not have.
func (m *Model) DType(weight string) ir.DType { return m.dtypes[weight] }

// source returns where a weight of a layer and an expert is, and the tensor; if
// there is none, the usual place.
func (m *Model) source(weight string, layer, expert int) (Source, checkpoint.Tensor, bool) {
	w := m.weights[weight]
	for _, s := range w.From {
		if t, ok := m.tensors[s.at(layer, expert)]; ok {
			return s, t, true
		}
	}
	return m.usual(weight), checkpoint.Tensor{}, false
}

// usual returns where a weight that is not there would be, in the spelling of the others.
func (m *Model) usual(weight string) Source {
	from := m.weights[weight].From
	if len(from) == 0 {
		return Source{Name: weight}
	}
	_, gguf := m.tensors["token_embd.weight"]
	_, norm := m.tensors["output_norm.weight"]
	if i := slices.IndexFunc(from, Source.gguf); (gguf || norm) && i >= 0 {
		return from[i]
	}
	return from[0]
}

// Read reads rows [row, row+rows) of a weight: of its first extent, so that a
// row of a vector is an element. dst has exactly the elements of those rows. layer
// and expert are ignored by weights that have none. A weight that is stacked is
// read with the whole of its expert each time, whatever rows are asked for.
func (m *Model) Read(ctx context.Context, weight string, layer, expert int, row, rows int, dst []float32) error {
	if err := m.read(ctx, weight, layer, expert, row, rows, block{values: dst}); err != nil {
		return fmt.Errorf("models: weight %s, layer %d, expert %d: %w", weight, layer, expert, err)
	}
	return nil
}

func (m *Model) read(ctx context.Context, weight string, layer, expert int, row, rows int, dst block) error {
	shape := m.shapes[weight]
	s, t, ok := m.source(weight, layer, expert)
	if len(shape) == 0 || !ok {
		return errors.New("no such weight")
	}
	v := view{ckpt: m.ckpt, name: t.Name, source: s, expert: expert, rows: shape[0], width: 1, head: m.Config.HeadDim}
	for _, n := range shape[1:] {
		v.width *= n
	}
	if row < 0 || rows < 0 || rows > v.rows-row || rows*v.width != dst.len() {
		return fmt.Errorf("rows %d to %d of %v do not fit %d elements", row, row+rows, shape, dst.len())
	}
	return v.read(ctx, row, rows, dst)
}
