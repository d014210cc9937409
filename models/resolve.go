package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"estream/ir"
	"estream/models/checkpoint"
)

// A resolver matches the weights of a module with the tensors of a checkpoint.
type resolver struct {
	m       *Model
	used    map[string]bool
	missing problems
	shapes  problems
	unused  problems
	opaque  map[string]*problems // by what is wrong
	skipped map[string]*problems // by why
}

// resolve finds all that is wrong at once, and reads nothing.
func (m *Model) resolve(module *ir.Module) error {
	r := &resolver{m: m, used: map[string]bool{}, opaque: map[string]*problems{}, skipped: map[string]*problems{}}
	r.graph(module.Graph("embed"), 0)
	for l, name := range module.Layers {
		r.graph(module.Graph(name), l)
	}
	r.graph(module.Graph("head"), 0)
	r.rest()
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		m.note("skipped, %s: %s", why, r.skipped[why])
	}
	return r.err()
}

func (r *resolver) err() error {
	text, sep := "models: the checkpoint of architecture "+fmt.Sprintf("%.200s", strings.Join(r.m.Config.Architectures, ", ")), ": "
	add := func(p problems, before, after string) {
		if p.n > 0 {
			text += sep + before + p.String() + after
			sep = "; "
		}
	}
	if r.missing.n > 0 {
		sep = " "
	}
	add(r.missing, "has no tensor ", "")
	for _, why := range slices.Sorted(maps.Keys(r.opaque)) {
		add(*r.opaque[why], "", ": "+why)
	}
	add(r.shapes, "", "")
	add(r.unused, "nothing reads tensor ", "")
	if sep == ": " {
		return nil
	}
	return errors.New(text)
}

func (r *resolver) graph(g *ir.Graph, layer int) {
	for _, w := range g.Weights() {
		r.weight(w.Name, layer, 0)
	}
	for _, v := range g.Values {
		if v.Body == nil {
			continue
		}
		for _, w := range v.Body.Weights() {
			for e := range r.m.Config.NumExperts {
				r.weight(w.Name, layer, e)
			}
		}
	}
}

func (r *resolver) weight(name string, layer, expert int) {
	s, t, ok := r.m.source(name, layer, expert)
	if !ok {
		r.missing.add(func() string {
			return fmt.Sprintf("%q", s.at(layer, expert)) + r.m.untied(name)
		})
		return
	}
	if d := dtype(t.DType); r.m.dtypes[name] == ir.Invalid || r.m.dtypes[name] == d {
		r.m.dtypes[name] = d
	} else {
		r.m.dtypes[name] = ir.F32
	}
	if !r.used[t.Name] {
		r.used[t.Name] = true
		r.shape(name, s, t)
	}
}

// shape checks a tensor's extents, those of 1 there or not. Tables of tokens may have more rows than
// there are tokens: trainers pad them. The rows past the last are never read.
func (r *resolver) shape(name string, s Source, t checkpoint.Tensor) {
	w := r.m.weights[name]
	dims, err := r.m.Config.dims(w)
	if err != nil {
		r.shapes.add(func() string { return fmt.Sprintf("weight %s: %v", name, err) })
		return
	}
	want := s.stored(dims, r.m.Config.NumExperts)
	if slices.Equal(want, t.Shape) || slices.Equal(s.stored(r.m.Config.shape(w), r.m.Config.NumExperts), t.Shape) {
		return
	}
	padded := strings.HasPrefix(w.Extents, "V,") && s == Source{Name: s.Name} && len(t.Shape) == len(want) &&
		t.Shape[0] > want[0] && slices.Equal(t.Shape[1:], want[1:])
	if padded {
		r.m.note("tensor %q has %d rows for %d tokens: the rest is padding and is left out", t.Name, t.Shape[0], want[0])
		return
	}
	r.shapes.add(func() string {
		return fmt.Sprintf("tensor %q is %v, want %v (%s)", t.Name, t.Shape, want, r.m.Config.keys(w))
	})
}

// rest looks at the tensors that no weight took, and at the types of all.
func (r *resolver) rest() {
	for _, t := range r.m.ckpt.Tensors() {
		switch {
		case r.used[t.Name]:
		case t.Aside != "":
			of(r.skipped, t.Aside).add(func() string { return fmt.Sprintf("%.200s", t.Name) })
			continue
		case derived(t.Name):
			of(r.skipped, "for they follow from config.json").add(func() string { return fmt.Sprintf("%.200s", t.Name) })
			continue
		default:
			r.unused.add(func() string { return fmt.Sprintf("%.200q", t.Name) + r.m.nearest(t.Name) })
		}
		if t.Opaque != "" {
			of(r.opaque, t.Opaque).add(func() string { return fmt.Sprintf("tensor %.200q is %s", t.Name, t.DType) })
		}
	}
}

// derived reports whether a tensor is a buffer that old checkpoints carry and that rope_theta gives.
func derived(name string) bool { return strings.HasSuffix(name, ".rotary_emb.inv_freq") }

func dtype(d checkpoint.DType) ir.DType {
	switch d {
	case "BF16":
		return ir.BF16
	case "F16":
		return ir.F16
	}
	return ir.F32
}

// problems counts what is wrong in one way and words the first few.
type problems struct {
	n     int
	first []string
}

// of returns the problems of one kind.
func of(kinds map[string]*problems, kind string) *problems {
	if kinds[kind] == nil {
		kinds[kind] = &problems{}
	}
	return kinds[kind]
}

func (p *problems) add(text func() string) {
	if p.n++; p.n <= 8 {
		p.first = append(p.first, text())
	}
}

func (p problems) String() string {
	s := strings.Join(p.first, ", ")
	if more := p.n - len(p.first); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
