package synth

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"estream/ir"
	"estream/ir/quant"
	"estream/models"
	"estream/models/checkpoint"
)

// A model is a checkpoint that nobody stored: each of its weights is a function
// of the seed and the weight's place.
type model struct {
	config  []byte
	seed    uint64
	tensors []tensor            // as the layers have them
	at      map[string]int      // in tensors, by name
	listed  []checkpoint.Tensor // by name, sorted
}

// A tensor of the checkpoint, in bf16.
type tensor struct {
	name  string
	shape []int
	table []uint16 // of its law
}

func (t tensor) elements() int64 {
	n := int64(1)
	for _, d := range t.shape {
		n *= int64(d)
	}
	return n
}

// bytes is the stored size.
func (t tensor) bytes() int64 { return 2 * t.elements() }

// list fills tensors in from the family's graphs.
func (m *model) list(families []models.Family) error {
	c, err := models.ReadConfig(m.config)
	if err != nil {
		return err
	}
	f, err := find(families, c.Architectures)
	if err != nil {
		return err
	}
	module, err := models.Build(f, c)
	if err != nil {
		return err
	}
	l := lister{c: c, weights: f.Weights, at: map[string]int{}, tables: map[law][]uint16{}}
	l.graph(module.Graph("embed"), 0)
	for i, name := range module.Layers {
		l.graph(module.Graph(name), i)
	}
	if l.graph(module.Graph("head"), 0); l.err != nil {
		return l.err
	}
	m.tensors, m.at = l.tensors, l.at
	for _, t := range m.tensors {
		m.listed = append(m.listed, checkpoint.Tensor{Name: t.name, DType: "BF16", Shape: t.shape, Bytes: t.bytes()})
	}
	slices.SortFunc(m.listed, func(a, b checkpoint.Tensor) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// find returns the family of the first architecture that has one.
func find(families []models.Family, archs []string) (models.Family, error) {
	err := errors.New("config.json: architectures is not there: want a list of one")
	for _, a := range archs {
		f, e := models.Find(families, a)
		if e == nil {
			return f, nil
		}
		err = e
	}
	return models.Family{}, err
}

// A lister collects the tensors of the weights of graphs, each once.
type lister struct {
	c       *models.Config
	weights models.Weights
	at      map[string]int // in tensors
	tables  map[law][]uint16
	tensors []tensor
	err     error
}

func (l *lister) graph(g *ir.Graph, layer int) {
	for _, w := range g.Weights() {
		l.weight(w, layer, 0)
	}
	for _, v := range g.Values {
		if v.Body == nil {
			continue
		}
		for e := range l.c.NumExperts {
			for _, w := range v.Body.Weights() {
				l.weight(w, layer, e)
			}
		}
	}
}

// weight adds the tensor that a weight is read from, as its first Source says.
func (l *lister) weight(w *ir.Value, layer, expert int) {
	entry := l.weights[w.Name]
	if w.Name == "head.weight" && l.c.TieWordEmbeddings {
		return // the embedding is read
	}
	if len(entry.From) == 0 {
		l.err = cmp.Or(l.err, fmt.Errorf("weight %s has no tensor of a checkpoint to be", w.Name))
		return
	}
	s := entry.From[0]
	name := strings.ReplaceAll(s.Name, "{l}", strconv.Itoa(layer))
	name = strings.ReplaceAll(name, "{e}", strconv.Itoa(expert))
	if _, known := l.at[name]; known {
		return
	}
	l.at[name] = len(l.tensors)
	law := lawOf(w.Name, w.Type)
	if l.tables[law] == nil {
		l.tables[law] = law.table()
	}
	l.tensors = append(l.tensors, tensor{name, stored(entry, s, w.Type, l.c.NumExperts), l.tables[law]})
}

// stored returns the extents of the tensor that a weight of type t is read from.
func stored(w models.Weight, s models.Source, t ir.Type, experts int) []int {
	var shape []int
	dims := t.Dims
	for _, name := range strings.Split(w.Extents, ",") {
		if name == "1" {
			shape = append(shape, 1)
			continue
		}
		shape, dims = append(shape, dims[0].N), dims[1:]
	}
	shape[0] *= max(1, s.Parts)
	if s.Transpose {
		slices.Reverse(shape)
	}
	if s.Stacked {
		shape = slices.Insert(shape, 0, experts)
	}
	return shape
}

// format opens m as a checkpoint, whatever the path.
func (m *model) format() checkpoint.Format {
	return checkpoint.Format{
		Name:  "synthetic",
		Match: func(string) bool { return true },
		Open:  func(string, checkpoint.Options) (checkpoint.Checkpoint, error) { return m, nil },
	}
}

// Config implements checkpoint.Checkpoint, as the methods below do.
func (m *model) Config() ([]byte, error) { return m.config, nil }

func (m *model) Tensors() []checkpoint.Tensor { return m.listed }

func (m *model) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	i, found := m.at[name]
	if !found {
		return fmt.Errorf("synthetic checkpoint: no tensor %q", name)
	}
	t := m.tensors[i]
	width := t.elements() / int64(t.shape[0])
	if row < 0 || rows < 0 || rows > t.shape[0]-row || int64(rows)*width != int64(len(dst)) {
		return fmt.Errorf("synthetic checkpoint: tensor %q: rows [%d,%d+%d) of %v do not fit %d elements", name, row, row, rows, t.shape, len(dst))
	}
	data := make([]byte, 2*len(dst))
	m.bits(t, int64(row)*width, data)
	for i := range dst {
		dst[i] = quant.FromBF16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return ctx.Err()
}

func (m *model) Files() []checkpoint.File { return nil }

func (m *model) Close() error { return nil }
