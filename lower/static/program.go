package static

import (
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// A program runs the ragged calls of one graph.
type program struct {
	owner  *compiled
	graph  *ir.Graph          // the signature
	rows   ir.Dim             // the symbol that counts rows: T or L, R of an expert
	expert *lower.ExpertGraph // nil if graph is no expert's
	state  int                // which input is the state; -1: none
	convs  bool               // whether the state is a convolution's window, not growing
	step   step               // of a graph with a state
	window int                // of the graph's attention
	tiers  []*tier            // ascending by rows, then by past, then by bodies, then by columns
	pack   lower.Packing      // of its matrices
	some   bool               // whether P counts columns of its weights, of which a call has some
	spread passes.Tiers       // of an expert: R and G that there are tiers of
	host   lower.Program      // of an expert that the host runs too; nil: none
}

func newProgram(owner *compiled, g *ir.Graph, p lower.Packing) (*program, error) {
	x, err := lower.ExpertOf(g, p)
	if x == nil && err == nil && slices.ContainsFunc(g.Values, func(v *ir.Value) bool { return v.Op == ir.ScatterAdd }) {
		err = fmt.Errorf("it adds rows, and is no expert: want inputs x, rows, w and y, and y alone returned")
	}
	if err != nil {
		return nil, err
	}
	prog := &program{owner: owner, graph: g, expert: x, state: -1, rows: ir.R, pack: p}
	for _, find := range []func() error{prog.findRows, prog.findState, prog.findAttention, prog.findConv} {
		if err := find(); err != nil {
			return nil, err
		}
	}
	prog.some = slices.ContainsFunc(g.Weights(), func(w *ir.Value) bool { return slices.Contains(w.Type.Dims, ir.P) })
	return prog, nil
}

// sizesOf returns the bytes of each weight of the signature at some extents.
func (p *program) sizesOf(dims lower.Dims) ([]int64, error) {
	var sizes []int64
	for _, w := range p.graph.Weights() {
		t, err := dims.Bind(w.Type)
		if err != nil {
			return nil, fmt.Errorf("weight %s: %w", w.Name, err)
		}
		n, err := lower.WeightSize(p.pack, t, lower.IsMatrix(p.graph, w))
		if err != nil {
			return nil, fmt.Errorf("weight %s: %w", w.Name, err)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func (p *program) findRows() error {
	in := p.graph.Inputs()
	if p.expert != nil {
		return nil
	}
	if len(in) == 0 || in[0].Type.Rank() == 0 || in[0].Type.Dims[0].Sym == "" || in[0].Type.Dims[0].N != 0 {
		return fmt.Errorf("want a first input with rows that a symbol counts")
	}
	p.rows = in[0].Type.Dims[0]
	for i, v := range p.graph.Outputs {
		if v.Type.DType != ir.State && (v.Type.Rank() == 0 || v.Type.Dims[0] != p.rows) {
			return fmt.Errorf("output %d of type %s has not the rows of the first input: %w", i, v.Type, lower.ErrUnsupported)
		}
	}
	return nil
}

func (p *program) findState() error {
	for i, v := range p.graph.Inputs() {
		if v.Type.DType != ir.State {
			continue
		}
		if p.state >= 0 {
			return fmt.Errorf("%s of type %s: want at most one state: %w", v.Name, v.Type, lower.ErrUnsupported)
		}
		p.convs = v.Type.Kind == ir.Window
		for _, part := range v.Type.Parts {
			if !p.convs && part.Dims[0] != ir.S {
				return fmt.Errorf("%s of type %s: want S rows in each part: %w", v.Name, v.Type, lower.ErrUnsupported)
			}
		}
		p.state = i
	}
	return nil
}

// grows reports whether the graph has a state that grows.
func (p *program) grows() bool { return p.state >= 0 && !p.convs }

// findAttention finds the step and the window that all attentions over the state
// have in common: they share a mask.
func (p *program) findAttention() error {
	if !p.grows() {
		return nil
	}
	var first *ir.Value
	for _, v := range p.graph.Values {
		if v.Op != ir.Attention {
			continue
		}
		if first == nil {
			first, p.window = v, v.Attr.(ir.AttentionAttr).Window
		}
		if w := v.Attr.(ir.AttentionAttr).Window; w != p.window {
			return fmt.Errorf("attentions with windows %d and %d cannot share a mask: %w", p.window, w, lower.ErrUnsupported)
		}
		if !slices.Equal(v.Args[2:], first.Args[2:]) {
			return fmt.Errorf("attentions %s and %s over different steps cannot share a mask: %w", first, v, lower.ErrUnsupported)
		}
	}
	if first == nil {
		return fmt.Errorf("nothing attends to the state: %w", lower.ErrUnsupported)
	}
	return p.findStep(first.Args[2:])
}

// findStep finds the inputs that say what a step holds: operands of attention,
// and of append in part.
func (p *program) findStep(given []*ir.Value) error {
	for _, v := range p.graph.Values {
		if v.Op == ir.Append && !slices.Equal(v.Args[1:4], given[1:4]) {
			return fmt.Errorf("%s appends by another step than is attended to: %w", v, lower.ErrUnsupported)
		}
	}
	in := p.graph.Inputs()
	for i, to := range []*int{&p.step.pos, &p.step.seq, &p.step.past, &p.step.base, &p.step.parent} {
		if *to = slices.Index(in, given[i]); *to < 0 {
			return fmt.Errorf("attention takes %s, which is no input, as part of the step: %w", given[i], lower.ErrUnsupported)
		}
	}
	return nil
}

// at returns which input of the graph has a name, -1: none.
func (p *program) at(name string) int {
	return slices.IndexFunc(p.graph.Inputs(), func(v *ir.Value) bool { return v.Name == name })
}

// settle finds the extents of an expert's tiers, which are in order: each of R with
// each of G.
func (p *program) settle() error {
	if p.expert == nil {
		return nil
	}
	for _, t := range p.tiers {
		p.spread.R, p.spread.G = append(p.spread.R, t.rows), append(p.spread.G, t.bodies)
	}
	slices.Sort(p.spread.G)
	p.spread.R, p.spread.G = slices.Compact(p.spread.R), slices.Compact(p.spread.G)
	for _, r := range p.spread.R {
		for _, g := range p.spread.G {
			if p.tierOf(r, g) == nil {
				return fmt.Errorf("it has no tier of %d experts of %d rows: want each of %v with each of %v", g, r, p.spread.G, p.spread.R)
			}
		}
	}
	return nil
}

// tierOf returns the tier of an expert of so many rows and bodies, or nil.
func (p *program) tierOf(rows, bodies int) *tier {
	i := slices.IndexFunc(p.tiers, func(t *tier) bool { return t.rows == rows && t.bodies == bodies })
	if i < 0 {
		return nil
	}
	return p.tiers[i]
}

// largest returns the most rows that a tier takes.
func (p *program) largest() int { return p.tiers[len(p.tiers)-1].rows }

// pick returns the smallest tier for so many rows, rows before them and columns, or nil.
func (p *program) pick(rows, past, columns int) *tier {
	i := slices.IndexFunc(p.tiers, func(t *tier) bool { return t.rows >= rows && t.past >= past && t.columns == columns })
	if i < 0 {
		return nil
	}
	return p.tiers[i]
}

// Run implements lower.Program.
func (p *program) Run(ctx context.Context, c *lower.Call) error {
	run := p.runRows
	switch {
	case p.expert != nil:
		run = p.runExperts
	case p.convs:
		run = p.runWindows
	case p.state >= 0:
		run = p.runSequences
	}
	dims, err := p.check(c)
	if err == nil {
		p.owner.running.Lock()
		defer p.owner.running.Unlock()
		err = run(ctx, c, dims)
	}
	if err != nil {
		return fmt.Errorf("%s: graph %s: %w", p.owner.device.Name(), p.graph.Name, err)
	}
	return nil
}

// exec runs a tier once: fill writes an input, whole, and drain takes an output.
func (t *tier) exec(ctx context.Context, weights []lower.Buffer, fill, drain func(slot)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, s := range t.in {
		fill(s)
	}
	if err := t.exe.Run(ctx, buffers(t.in), weights, buffers(t.out)); err != nil {
		return fmt.Errorf("tier %s: %w", t.graph.Name, err)
	}
	t.ran = true
	for _, s := range t.out {
		drain(s)
	}
	return nil
}
