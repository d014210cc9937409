package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"estream/ir"
)

// Build lowers a model: the graphs embed, layer0, layer1, ... and head, of
// weights that are all f32, verified. It fails too where c has a setting that
// neither the family nor this package reads and that might change the model.
func Build(f Family, c *Config) (*ir.Module, error) {
	m, err := f.build(c)
	if err != nil {
		return nil, fmt.Errorf("models: family %s: %w", f.Name, err)
	}
	return m, nil
}

func (f Family) build(c *Config) (*ir.Module, error) {
	if f.Config != nil {
		f.Config(c)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	params, err := f.params(c)
	if err != nil {
		return nil, err
	}
	m := &ir.Module{}
	b := builder{f: f, c: c, params: params, m: m}
	b.embed()
	for l := range c.NumHiddenLayers {
		b.layer(l)
	}
	b.head()
	if b.err != nil {
		return nil, b.err
	}
	c.use(f.Weights)
	refused, unknown := c.unread(slices.Concat(ignored(), f.Ignored, f.Partly))
	unknown = some(unknown)
	if n := len(unknown); n > 0 {
		unknown[n-1] += ": the family does not know this setting, and ignoring it could change the model; remove what changes nothing"
	}
	if all := append(refused, unknown...); len(all) > 0 {
		return nil, errors.New(strings.Join(all, "; "))
	}
	return m, m.Verify()
}

// params returns the types of the weights of the table.
func (f Family) params(c *Config) (map[string]ir.Type, error) {
	params := map[string]ir.Type{}
	for _, name := range slices.Sorted(maps.Keys(f.Weights)) {
		_, err := c.dims(f.Weights[name])
		if errors.Is(err, errLeftOut) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("weight %s: %w", name, err)
		}
		t := ir.Tensor(ir.F32)
		for _, n := range c.shape(f.Weights[name]) {
			t.Dims = append(t.Dims, ir.N(n))
		}
		params[name] = t
	}
	return params, nil
}

// A builder adds graphs to a module until the first error.
type builder struct {
	f      Family
	c      *Config
	params map[string]ir.Type
	m      *ir.Module
	err    error
}

// An output is what a graph returns, and as what.
type output struct {
	name string
	v    *ir.Value
	want ir.Type
}

// add finishes a graph. An error of the settings comes first, which g's may follow
// from, then g's own, for it names the family's line.
func (b *builder) add(graph string, g *ir.Builder, outputs ...output) {
	var values []*ir.Value
	for _, o := range outputs {
		if o.v != nil {
			values = append(values, o.v)
		}
	}
	done, err := g.Finish(values...)
	if refused := b.c.Err(); refused != nil {
		err = refused
	}
	for _, o := range outputs {
		if err == nil {
			err = o.check(graph)
		}
	}
	if err != nil {
		b.err = err
		return
	}
	for _, o := range outputs {
		g.Named(o.name, o.v)
	}
	b.m.Graphs = append(b.m.Graphs, done)
}

func (o output) check(graph string) error {
	switch {
	case o.v == nil:
		return fmt.Errorf("graph %s: the family returns no value for %s", graph, o.name)
	case o.v.Op == ir.Input || o.v.Op == ir.Weight:
		return fmt.Errorf("graph %s: the family returns %s itself for %s", graph, o.v.Name, o.name)
	case !o.v.Type.Equal(o.want):
		return fmt.Errorf("graph %s: the family returns %s for %s, want %s", graph, o.v.Type, o.name, o.want)
	}
	return nil
}

func (b *builder) embed() {
	g := ir.NewBuilder("embed", b.params)
	ids := g.Input("ids", ir.Tensor(ir.I32, ir.T))
	var y *ir.Value
	if b.f.Embed != nil {
		y = b.f.Embed(g, b.c, ids)
	} else {
		y = g.Embed(g.Weight("embed.weight"), ids)
	}
	b.add("embed", g, output{"embed", y, b.rows(ir.T, b.c.HiddenSize)})
}

func (b *builder) layer(l int) {
	if b.err != nil {
		return
	}
	name := fmt.Sprintf("layer%d", l)
	g := ir.NewBuilder(name, b.params)
	x := g.Input("x", b.rows(ir.T, b.c.HiddenSize))
	s := g.Step()
	var state *ir.Value
	t := b.f.state(b.c, l)
	if t.Kind != ir.NoState {
		state = g.Input("state", t)
	}
	y, next := b.f.Layer(g, b.c, l, x, s, state)
	outputs := []output{{"y", y, x.Type}}
	if state != nil || next != nil {
		outputs = append(outputs, output{"state.next", next, t})
	}
	b.m.Layers = append(b.m.Layers, name)
	b.add(name, g, outputs...)
}

func (b *builder) head() {
	if b.err != nil {
		return
	}
	g := ir.NewBuilder("head", b.params)
	x := g.Input("x", b.rows(ir.L, b.c.HiddenSize))
	var y *ir.Value
	if b.f.Head != nil {
		y = b.f.Head(g, b.c, x)
	} else {
		y = g.Linear(g.RMSNorm(x, "final.norm", b.c.RMSNormEps), "head")
	}
	b.add("head", g, output{"logits", y, b.rows(ir.L, b.c.VocabSize)})
}

func (b *builder) rows(n ir.Dim, width int) ir.Type { return ir.Tensor(ir.F32, n, ir.N(width)) }
