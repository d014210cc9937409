package static

import (
	"fmt"

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
		if p.expert && (v.Name == "rows" || v.Name == "w") {
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
	if p.expert {
		return dims, p.checkGroup(c)
	}
	return dims, p.checkWeights(c.Weights)
}

func checkBuffer(v *ir.Value, b lower.Buffer, dims lower.Dims) error {
	if err := dims.Match(v.Type, b.Type); err != nil {
		return err
	}
	return checkBytes(b, lower.Size(b.Type))
}

// checkBytes reports a buffer that does not hold so many bytes.
func checkBytes(b lower.Buffer, want int64) error {
	switch {
	case b.Mem == nil && want == 0:
		return nil
	case b.Mem == nil:
		return fmt.Errorf("it has no memory")
	case b.Off < 0 || b.Off%4 != 0 || b.Len < want || b.Len > int64(len(b.Mem.Bytes()))-b.Off:
		return fmt.Errorf("bytes %d to %d of %d do not hold %s, which takes %d", b.Off, b.Off+b.Len, len(b.Mem.Bytes()), b.Type, want)
	}
	return nil
}

// checkInplace reports an output written in place that is not the operand.
func (p *program) checkInplace(c *lower.Call) error {
	for i, v := range p.graph.Outputs {
		in := -1
		switch {
		case v.Type.DType == ir.State:
			in = p.state
		case p.expert:
			in = p.at("y")
		}
		if in >= 0 && !sameBytes(c.In[in].Bytes(), c.Out[i].Bytes()) {
			return fmt.Errorf("output %d is written in place and must have the buffer of input %s", i, p.graph.Inputs()[in].Name)
		}
	}
	return nil
}

// sameBytes reports whether two buffers start at the same byte.
func sameBytes(a, b []byte) bool {
	return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] || len(a) == 0 && len(b) == 0
}

func (p *program) checkWeights(given []lower.Buffer) error {
	weights := p.graph.Weights()
	if len(given) != len(weights) {
		return fmt.Errorf("%d weights, want %d", len(given), len(weights))
	}
	for i, w := range weights {
		if !given[i].Type.Equal(w.Type) {
			return fmt.Errorf("weight %s has type %s, want %s", w.Name, given[i].Type, w.Type)
		}
		if err := checkBytes(given[i], p.sizes[i]); err != nil {
			return fmt.Errorf("weight %s: %w", w.Name, err)
		}
	}
	return nil
}

func (p *program) checkGroup(c *lower.Call) error {
	rows := min(c.In[p.at("x")].Type.Dims[0].N, c.In[p.at("y")].Type.Dims[0].N)
	for i, e := range c.Group {
		if err := p.checkExpert(e, rows); err != nil {
			return fmt.Errorf("expert %d of the group: %w", i, err)
		}
	}
	return nil
}

// checkExpert reports what in e does not fit the signature and n rows of x and y.
func (p *program) checkExpert(e lower.Expert, n int) error {
	if weights := len(p.graph.Weights()); len(e.Factors) != weights {
		return fmt.Errorf("%d factors for %d weights", len(e.Factors), weights)
	}
	if len(e.W) != len(e.Rows) {
		return fmt.Errorf("%d rows with %d weights of rows", len(e.Rows), len(e.W))
	}
	for i, r := range e.Rows {
		if r < 0 || int(r) >= n || i > 0 && r <= e.Rows[i-1] {
			return fmt.Errorf("rows %v do not ascend from 0 to at most %d", e.Rows, n-1)
		}
	}
	if len(e.Rows) == 0 {
		return nil // its record is not read
	}
	return p.checkWeights(p.weightsOf(e))
}

// weightsOf returns the weights of an expert: parts of its record.
func (p *program) weightsOf(e lower.Expert) []lower.Buffer {
	var bs []lower.Buffer
	for i, w := range p.graph.Weights() {
		off := int64(w.Attr.(ir.WeightAttr).Offset)
		bs = append(bs, lower.Buffer{Mem: e.Record.Mem, Off: e.Record.Off + off, Len: min(p.sizes[i], e.Record.Len-off), Type: w.Type, Factor: e.Factors[i]})
	}
	return bs
}
