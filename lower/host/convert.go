package host

import (
	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host/kernel"
)

// operand returns the place and type in which operand i of in, a, is read, after
// adding the instruction that brings a to the form that in's function takes:
// packed for the host's kernels, or, where floats is set, f32.
func (k *compiler) operand(in *instruction, i int, a *ir.Value, floats bool) (int, ir.Type) {
	d := a.Type.DType
	switch {
	case in.Op == ir.MatMul && i == 1 && a.Op != ir.Weight:
		return k.convert(in, i, a, packPlain, a.Type, true)
	case in.Op == ir.MatMul && i == 1 && k.c.foreign():
		place, t := k.convert(in, i, a, k.repack(in), a.Type, true)
		if k.c.packing.Rows != nil {
			s := &k.slots[place-k.firstSlot()]
			s.behind = max(s.behind, int64(k.c.pool.threads)*panelRoom(t))
		}
		return place, t
	case floats && d.Float() && d != ir.F32:
		return k.convert(in, i, a, widen, a.Type.WithDType(ir.F32), false)
	}
	return k.place[k.root[a]], a.Type
}

// convert adds an instruction that writes a, operand i of in, as type t to a slot
// that is kept for this: one for each operand and form.
func (k *compiler) convert(in *instruction, i int, a *ir.Value, run Func, t ir.Type, packed bool) (int, ir.Type) {
	key := spare{i, packed}
	s, ok := k.spares[key]
	if !ok {
		s = k.newSlot(packed)
		k.spares[key] = s
	}
	k.slots[s].types = append(k.slots[s].types, t)
	k.code = append(k.code, &instruction{
		Exec: Exec{Op: in.Op, In: []lower.Buffer{{Type: k.own(a.Type)}}, Out: lower.Buffer{Type: k.own(t)}, pool: in.pool},
		run:  run, label: in.label, from: []int{k.place[k.root[a]]}, to: k.firstSlot() + s,
	})
	return k.firstSlot() + s, t
}

// A spare is what a slot for converted operands is kept for.
type spare struct {
	operand int
	packed  bool
}

// widen decodes a float tensor.
func widen(x *Exec) error {
	lower.Decode(x.out(), x.In[0].Bytes(), x.In[0].Type.DType)
	return nil
}

// packPlain packs a computed matrix.
func packPlain(x *Exec) error {
	t := x.In[0].Type
	m := &quant.Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Dims[1].N, Factor: 1}
	m.F = make([]float32, m.N*m.K)
	lower.Decode(m.F, x.In[0].Bytes(), t.DType)
	return packInto(x, m)
}

func packInto(x *Exec, m *quant.Matrix) error {
	n, err := packedSize(x.Out.Type)
	if err != nil || n == 0 {
		return err
	}
	return kernel.Packing.Pack(x.Out.Bytes()[:n], m)
}
