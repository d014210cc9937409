package static

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
)

// check reports what in c does not fit the signature, and returns its extents.
func (p *program) check(c *lower.Call) (lower.Dims, error) {
	ins, outs := p.graph.Inputs(), p.graph.Outputs
	if len(c.In) != len(ins) || len(c.Out) != len(outs) {
		return nil, fmt.Errorf("%d inputs and %d outputs, want %d and %d", len(c.In), len(c.Out), len(ins), len(outs))
	}
	dims := lower.Dims{}
	for i, v := range ins {
		if p.expert != nil && p.expert.Routed(i) {
			continue
		}
		if err := checkBuffer(v, c.In[i], dims); err != nil {
			return nil, fmt.Errorf("input %s: %w", v.Name, err)
		}
	}
	for i, v := range outs {
		if err := checkBuffer(v, c.Out[i], dims); err != nil {
			return nil, fmt.Errorf("output %d: %w", i, err)
		}
	}
	if err := p.checkInplace(c); err != nil {
		return nil, err
	}
	if p.expert != nil {
		return dims, p.checkGroup(c)
	}
	return dims, p.checkWeights(c.Weights, dims)
}

func checkBuffer(v *ir.Value, b lower.Buffer, dims lower.Dims) error {
	if err := dims.Match(v.Type, b.Type); err != nil {
		return err
	}
	return b.Check(lower.Size(b.Type))
}

// checkInplace reports an output written in place that is not the operand.
func (p *program) checkInplace(c *lower.Call) error {
	for i, v := range p.graph.Outputs {
		in := -1
		switch {
		case v.Type.DType == ir.State:
			in = p.state
		case p.expert != nil:
			in = p.expert.Y
		}
		if in >= 0 && !lower.SameMemory(c.In[in], c.Out[i]) {
			return fmt.Errorf("output %d is written in place and must have the buffer of input %s", i, p.graph.Inputs()[in].Name)
		}
	}
	return nil
}

func (p *program) checkWeights(given []lower.Buffer, dims lower.Dims) error {
	weights := p.graph.Weights()
	if len(given) != len(weights) {
		return fmt.Errorf("%d weights, want %d", len(given), len(weights))
	}
	at := slices.IndexFunc(p.tiers, func(t *tier) bool { return t.columns == dims[ir.P.Sym] })
	if at < 0 {
		return fmt.Errorf("no tier has %d columns: want one of P for each number of columns that a record has", dims[ir.P.Sym])
	}
	for i, w := range weights {
		if t, err := dims.Bind(w.Type); err != nil || !given[i].Type.Equal(t) {
			return fmt.Errorf("weight %s has type %s, want %s", w.Name, given[i].Type, w.Type)
		}
		if err := given[i].Check(p.tiers[at].sizes[i]); err != nil {
			return fmt.Errorf("weight %s: %w", w.Name, err)
		}
	}
	return nil
}

func (p *program) checkGroup(c *lower.Call) error {
	rows := min(c.In[p.expert.X].Type.Dims[0].N, c.In[p.expert.Y].Type.Dims[0].N)
	for i := range c.Group {
		if err := p.expert.Check(&c.Group[i], rows); err != nil {
			return &lower.ExpertError{Index: i, Of: len(c.Group), Err: err}
		}
	}
	return nil
}
