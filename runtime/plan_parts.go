package runtime

import (
	"cmp"
	"errors"
	goruntime "runtime"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager"
	"estream/passes"
)

// measure fills the plan's parts in.
func (m *Model) measure(p *Plan) error {
	p.frame, p.state = 0, 0
	for _, c := range m.classes {
		n, err := c.frame.bytes(rows{p.Tokens, p.Chunk})
		if err != nil {
			return err
		}
		p.frame = max(p.frame, n)
		if c.state.DType == ir.State {
			t, err := lower.Dims{"S": p.Tokens, "B": p.Sequences}.Bind(c.state)
			if err != nil {
				return err
			}
			p.state = max(p.state, lower.Size(t))
		}
	}
	head := int64(p.Head) * (4*int64(m.hidden+m.headers.columns) + m.normBytes())
	logits := int64(min(p.Head, p.Rows)) * int64(m.vocab) * 4
	if p.collect {
		logits = int64(p.Rows) * int64(m.vocab) * 4
	}
	workspace, err := m.workspace(p)
	if err != nil {
		return err
	}
	calls := int64(len(m.layers)) * int64((p.Tokens+p.Chunk-1)/max(1, p.Chunk))
	p.Parts = []Part{
		{"program", m.program},
		{"arena", p.Geometry.Bytes()},
		{"activations", m.streams()*m.residualBytes(p.Tokens) + max(p.frame, m.embedBytes(p.Chunk))},
		{"state", p.state},
		{"routes", m.routeBytes(p.Tokens)},
		{"routers", m.guessBytes(p)},
		{"workspace", workspace},
		{"logits", logits + head},
		{"threads", m.threadBytes(p.Readers)},
		// Ids, their order, positions, route lists; what each layer's calls make anew, and a late collector leaves.
		{"reserve", reserve() + spans + 128*int64(p.Tokens) + 256*int64(p.Sequences) + min(calls<<13, late)},
	}
	if p.device > 0 {
		p.Parts = append(p.Parts, Part{"device", p.device})
	}
	return nil
}

func (m *Model) residualBytes(tokens int) int64 {
	return lower.RoundUp(int64(tokens)*int64(m.hidden)*4, lower.Align)
}

// streams is how many residual streams there are: where each layer's output may stand
// where its input did, one.
func (m *Model) streams() int64 {
	if slices.ContainsFunc(m.layers, func(c *class) bool { return !c.frame.reuse }) {
		return 2
	}
	return 1
}

// embedBytes is the gathered rows and their embeddings, then the blocks they are read
// in, in memory that layers use after them.
func (m *Model) embedBytes(chunk int) int64 {
	return m.gatheredBytes(chunk) + (TableReaders+1)*m.tableSlot()
}

func (m *Model) gatheredBytes(chunk int) int64 {
	n := int64(chunk)*(int64(m.region.RowBytes)+4*int64(m.hidden)) + lower.Align
	return lower.RoundUp(n, m.pkg.Manifest.Align)
}

// threadBytes is about the most that a run's threads took when they first ran, of 1 to 256
// readers and 1 to 64 threads that compute: their stacks and what Go keeps for each.
func (m *Model) threadBytes(readers int) int64 {
	computing := cmp.Or(m.opt.Threads, goruntime.GOMAXPROCS(0))
	return int64(readers)<<15 + int64(computing+TableReaders)<<16
}

// normBytes is a row of what head.norm gives head.proj.
func (m *Model) normBytes() int64 {
	n := int64(0)
	for _, out := range m.norm.graph.Outputs {
		if t, err := (lower.Dims{"L": 1}).Bind(out.Type); err == nil {
			n += lower.RoundUp(lower.Size(t), lower.Align)
		}
	}
	return n
}

// routeBytes is the row lists and weights of all experts of a layer.
func (m *Model) routeBytes(tokens int) int64 {
	most := 0
	for _, c := range m.classes {
		if c.routed != nil {
			most = max(most, c.routed.Args[1].Type.Last().N)
		}
	}
	return 8 * int64(tokens) * int64(most)
}

// groupDims are the extents of a group of experts to which all tokens are routed.
func (c *class) groupDims(tokens int) lower.Dims {
	d := lower.Dims{"T": tokens}
	if c.routed != nil {
		d["R"] = tokens * c.routed.Args[1].Type.Last().N
	}
	return d
}

// workspace is the most that any program takes beside its buffers.
func (m *Model) workspace(p *Plan) (int64, error) {
	need := map[lower.Compiled]int64{}
	var errs []error
	add := func(ph *phase, d lower.Dims) {
		if ph != nil && ph.program != nil {
			on := m.on(ph)
			n, err := on.Footprint(ph.graph.Name, d)
			need[on], errs = max(need[on], n), append(errs, err)
		}
	}
	d := lower.Dims{"T": p.Chunk, "S": p.Tokens, "B": p.Sequences, "U": p.Chunk, "L": p.Head, "P": m.headers.columns}
	for _, c := range m.classes {
		for _, name := range passes.Phases() {
			add(c.phases[name], d)
		}
		add(c.callee, c.groupDims(p.Tokens))
		if p.Schedule == pager.Guessed {
			add(c.early, d)
		}
	}
	for _, ph := range []*phase{m.embed, m.norm, m.proj} {
		add(ph, d)
	}
	total := int64(0)
	for _, n := range need {
		total += n
	}
	return total, errors.Join(errs...)
}

// on returns what runs a phase.
func (m *Model) on(p *phase) lower.Compiled {
	if m.device != nil && p.graph.On == m.opt.Device.Name() {
		return m.device
	}
	return m.host
}
