package host

import (
	"fmt"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host/kernel"
)

// A repacking packs another backend's matrix for the kernels, panel by panel: a
// thread unpacks the rows that are a panel's columns to working memory of its own,
// which lies behind the packed matrix.
type repacking struct {
	from lower.Packing
	w    kernel.Matrix
	room []byte
	rows []quant.Matrix // one a thread
}

// repack returns the Func that packs another backend's matrix for the matmul in. Of
// a packing without Rows it allocates and is slow.
func (k *compiler) repack(in *instruction) Func {
	r := &repacking{from: k.c.packing, rows: make([]quant.Matrix, k.c.pool.threads)}
	return func(x *Exec) error {
		in.In[1].Factor = x.In[0].Factor
		if r.from.Rows == nil {
			m, err := r.from.Unpack(x.In[0].Bytes(), x.In[0].Type)
			if err != nil {
				return fmt.Errorf("packing %s: %w", r.from.Name, err)
			}
			return packInto(x, m)
		}
		n, err := packedSize(x.Out.Type)
		if err != nil {
			return err
		}
		r.w, x.local = matrix(x.Out), r
		r.w.Data, r.room = r.w.Data[:n], r.w.Data[n:]
		defer r.forget()
		x.pool.spread(x, r.w.Panels(), kernel.PanelColumns*r.w.K/4, repackPanel)
		return nil
	}
}

// forget drops the call's memory.
func (r *repacking) forget() {
	r.w.Data, r.room = nil, nil
	clear(r.rows)
}

func repackPanel(x *Exec, thread, panel int) {
	r, t, first := x.local.(*repacking), x.In[0].Type, panel*kernel.PanelColumns
	m, size := &r.rows[thread], int(panelRoom(t))
	*m = quant.Matrix{DType: t.DType, N: min(kernel.PanelColumns, r.w.N-first), K: r.w.K, Factor: 1}
	room := span(r.room, size, thread, thread+1)
	if n := m.N * m.K; t.DType.Encoded() {
		m.Q, m.Scale = lower.I8(room[:n]), lower.U16(room[kernel.PanelColumns*m.K:])[:n/t.DType.Group(m.K)]
	} else {
		m.F = lower.F32(room)[:n]
	}
	r.from.Rows(m, x.In[0].Bytes(), t, first)
	r.w.PackPanel(m, panel)
}

// panelRoom is the bytes that the unpacked rows of a panel take.
func panelRoom(t ir.Type) int64 {
	k := t.Last().N
	n := 4 * k
	if t.DType.Encoded() {
		n = k + 2*(k/t.DType.Group(k))
	}
	return lower.RoundUp(kernel.PanelColumns*int64(n), lower.Align)
}
