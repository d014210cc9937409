package host

import (
	"estream/ir"
	"estream/lower"
)

// Work is what an instruction did.
type Work struct {
	Int8, BF16, F32 int64 // multiply-adds, by the type of what is multiplied
	Bytes           int64 // read and written, each once: of a state the rows in use, of a table the rows picked
}

// Products returns all multiply-adds.
func (w Work) Products() int64 { return w.Int8 + w.BF16 + w.F32 }

// work is what an instruction that has run did.
func work(x *Exec) Work {
	w := Work{Bytes: moved(x)}
	if len(x.In) < 2 {
		return w // the conversion of an operand, too
	}
	d := x.Out.Type.Dims
	switch x.Op {
	case ir.MatMul:
		n, k := rows(x.In[0].Type)
		w.add(x.In[0].Type.DType, n*k*x.Out.Type.Last().N)
	case ir.Conv:
		w.add(ir.F32, d[0].N*d[1].N*x.In[1].Type.Last().N)
	case ir.Attention:
		pairs, _ := attended(x)
		parts := x.In[1].Type.Parts
		w.add(parts[0].DType, pairs*d[1].N*(parts[0].Last().N+parts[1].Last().N))
	}
	return w
}

// add counts multiply-adds of activations of type d.
func (w *Work) add(d ir.DType, n int) {
	switch {
	case d.Activation():
		w.Int8 += int64(n)
	case d == ir.BF16:
		w.BF16 += int64(n)
	default:
		w.F32 += int64(n)
	}
}

// moved is the bytes that an instruction reads and writes.
func moved(x *Exec) int64 {
	if len(x.In) > 1 {
		switch x.Op {
		case ir.Embed, ir.GatherRows:
			return 2*x.Out.Len + x.In[1].Len
		case ir.ScatterAdd: // x is read, rows of y are read and written
			return 3*x.In[1].Len + x.In[2].Len
		case ir.Append:
			return given(x.In) + int64(x.In[4].Type.Dims[0].N)*partRows(x.In[0].Type)
		case ir.Attention: // behind its operands there may be working memory
			_, held := attended(x)
			return given(x.In[:7]) + x.Out.Len + held*partRows(x.In[1].Type)
		}
	}
	if x.Op == nil && lower.SameMemory(x.In[0], x.Out) {
		return 0 // an output that was computed in its place
	}
	n := x.Out.Len
	for _, b := range x.In {
		n += b.Len
	}
	return n
}

// given is the bytes of operands, states apart.
func given(in []lower.Buffer) int64 {
	n := int64(0)
	for _, b := range in {
		if b.Type.DType != ir.State {
			n += b.Len
		}
	}
	return n
}

// partRows is the bytes of one row of all parts of a state.
func partRows(state ir.Type) int64 {
	n := int64(0)
	for _, p := range state.Parts {
		n += lower.RowBytes(p)
	}
	return n
}

// attended counts the pairs of a query and a key that it sees, and the rows of
// keys that are looked at.
func attended(x *Exec) (pairs int, held int64) {
	step := ir.StepData{Pos: x.i32(2), Seq: x.i32(3), Past: x.i32(4), Base: x.i32(5), Parent: x.i32(6)}
	spans, err := step.Spans(nil, x.In[0].Type.Dims[0].N, x.In[1].Type.Parts[0].Dims[0].N)
	if err != nil {
		return 0, 0 // as the instruction has said
	}
	window := x.Attr.(ir.AttentionAttr).Window
	for _, s := range spans {
		last, n := s.Prefix+s.Rows(), s.To-s.From
		if n == 0 {
			continue
		}
		sees := last
		if window > 0 {
			sees = window
		}
		for k := last - n + 1; k <= last; k++ {
			pairs += min(k, sees)
		}
		held += int64(min(last, sees+n-1))
	}
	return pairs, held
}

// work is what step i did for the piece.
func (r *gatedRun) work(i int) (w Work) {
	n, weights := int64(r.rows), int64(0)
	last := -1
	for _, s := range r.piece {
		if e := &r.experts[s.expert]; s.expert != last {
			last = s.expert
			if i == gateUpStep {
				weights += int64(len(e.gate.Data) + len(e.up.Data))
			} else {
				weights += int64(len(e.down.Data))
			}
		}
	}
	switch i {
	case gatherStep:
		w.Bytes = 2 * n * int64(r.xRow())
	case gateUpStep:
		w.add(r.gated.x, 2*r.rows*r.h*r.f)
		w.Bytes = n*int64(r.xRow()+4*r.f) + weights
	case quantizeStep:
		w.Bytes = n * int64(4*r.f+r.hiddenRow())
	case downStep:
		w.add(r.gated.hidden, r.rows*r.f*r.out)
		w.Bytes = n*int64(r.hiddenRow()+12*r.out) + weights
	}
	return w
}
