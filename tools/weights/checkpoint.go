package weights

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
)

// OpenCheckpoint lists the weights of a checkpoint, which the set closes: by the
// names of the family that serves it, or, where none does, by the file's own.
func OpenCheckpoint(c checkpoint.Checkpoint, families []models.Family) (*Set, error) {
	m, err := models.Open(c, families)
	if err != nil {
		return raw(c, err), nil
	}
	module, err := m.Module()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	s := &Set{Module: module, Close: c.Close}
	for _, g := range module.Graphs {
		layer := -1
		if _, err := fmt.Sscanf(g.Name, "layer%d", &layer); err != nil && strings.HasPrefix(g.Name, "layer") {
			return nil, errors.Join(fmt.Errorf("graph %s is of no layer: %w", g.Name, err), c.Close())
		}
		s.graph(m, layer, -1, g)
	}
	return s.sorted(), nil
}

// graph lists the weights of a graph and, for each expert, of the bodies in it.
func (s *Set) graph(m *models.Model, layer, expert int, g *ir.Graph) {
	for _, v := range g.Values {
		switch {
		case v.Op == ir.Weight:
			s.Tensors = append(s.Tensors, of(m, ID{layer, expert, v.Name}))
		case v.Body != nil:
			for e := range m.Config.NumExperts {
				s.graph(m, layer, e, v.Body)
			}
		}
	}
}

// of is a weight of a model.
func of(m *models.Model, id ID) Tensor {
	layer, expert := max(0, id.Layer), max(0, id.Expert)
	d := m.Encoding(id.Name, layer, expert)
	if d == ir.Invalid {
		d = m.DType(id.Name)
	}
	t := Tensor{ID: id, Type: d.String(), Shape: m.Shape(id.Name)}
	t.Open = func() Reader {
		return func(ctx context.Context, row int, dst []float32) error {
			first, n := t.span(row, len(dst))
			return m.Read(ctx, id.Name, layer, expert, first, n, dst)
		}
	}
	return t
}

// span is what rows are to a checkpoint, to which a vector's rows are its elements.
func (t Tensor) span(row, values int) (first, n int) {
	if len(t.Shape) == 1 {
		return 0, values
	}
	return row, values / max(1, t.Width())
}

// raw lists the tensors of a checkpoint by the file's names, those apart that are no
// weights by themselves.
func raw(c checkpoint.Checkpoint, why error) *Set {
	s := &Set{Close: c.Close, Unnamed: why}
	for _, x := range c.Tensors() {
		if x.Aside != "" || x.Opaque != "" {
			continue
		}
		t := Tensor{ID: ID{-1, -1, x.Name}, Type: string(x.DType), Shape: x.Shape}
		t.Open = func() Reader {
			return func(ctx context.Context, row int, dst []float32) error {
				first, n := t.span(row, len(dst))
				return c.Read(ctx, x.Name, first, n, dst)
			}
		}
		s.Tensors = append(s.Tensors, t)
	}
	return s.sorted()
}
