package native

import (
	"runtime"
	"unsafe"
)

// A hold keeps Go memory in place and alive while C has its address. Its owner
// calls Unpin when C is done with it.
type hold struct{ runtime.Pinner }

// holdOf returns a hold that is let go at the latest with its owner, so that one
// who forgets to close it has leaked memory and not ended the process.
func holdOf[T any](owner *T) *hold {
	h := new(hold)
	runtime.AddCleanup(owner, (*hold).let, h)
	return h
}

func (h *hold) let() { h.Unpin() }

// pin returns the address of s, nil if it is empty.
func pin[T any](h *hold, s []T) *T {
	if len(s) == 0 {
		return nil
	}
	h.Pin(unsafe.SliceData(s))
	return unsafe.SliceData(s)
}

func (h *hold) str(s string) *byte { return pin(h, append([]byte(s), 0)) }

// word is an address as it stands in a union, which the collector does not read.
func word[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// overlay returns v's bytes as a union.
func overlay[T any](v T) (u [4]uint64) {
	*(*T)(unsafe.Pointer(&u)) = v
	return u
}

// tensor returns t as C takes it. Its parts are held; t.Data is, too.
func (h *hold) tensor(t *Tensor, id uint32) cTensor {
	dims := make([]uint32, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = uint32(d)
	}
	return cTensor{
		version: 1, id: id, name: h.str(t.Name), kind: uint32(t.Kind), dtype: uint32(t.Type),
		quant: h.quant(&t.Quant), rank: uint32(len(dims)), dims: pin(h, dims),
		data: unsafe.Pointer(pin(h, t.Data)), size: uint32(len(t.Data)),
	}
}

func (h *hold) quant(q *Quant) cQuant {
	pairs := make([]cScaleOffset, len(q.Scales))
	for i, s := range q.Scales {
		pairs[i].scale = s
		if q.Offsets != nil {
			pairs[i].offset = q.Offsets[i]
		}
	}
	n, axis := uint32(len(pairs)), int32(q.Axis)
	switch {
	case len(q.BlockScales) > 0:
		b := []cBlockwise{{axis: axis, pairs: pin(h, pairs), blocks: uint32(len(q.BlockScales)) / n, bits: 4, factors: pin(h, q.BlockScales)}}
		return cQuant{isQuantized, blockwise, [4]uint64{word(pin(h, b))}}
	case n > 0 && q.Bits > 0:
		return cQuant{isQuantized, bitsAxis, overlay(cBitsAxisScale{bits: uint32(q.Bits), axis: axis, n: n, scales: pin(h, q.Scales), offsets: pin(h, q.Offsets)})}
	case n > 0:
		return cQuant{isQuantized, perAxis, overlay(cAxisScale{axis, n, pin(h, pairs)})}
	case q.Scale != 0 && q.Bits > 0:
		return cQuant{isQuantized, bitsTensor, overlay(cBitsScale{uint32(q.Bits), q.Scale, q.Offset})}
	case q.Scale != 0:
		return cQuant{isQuantized, perTensor, overlay(cScaleOffset{q.Scale, q.Offset})}
	}
	return cQuant{definition: undefined, encoding: noEncoding}
}

// op returns n as C takes it, with its tensors.
func (h *hold) op(n *Node, in, out []cTensor, params []cParam) cOp {
	return cOp{
		version: 1, name: h.str(n.Name), pkg: h.str("qti.aisw"), op: h.str(n.Op),
		nParams: uint32(len(params)), params: pin(h, params),
		nIn: uint32(len(in)), in: pin(h, in),
		nOut: uint32(len(out)), out: pin(h, out),
	}
}

// param returns p of n as C takes it. A tensor has no number yet.
func (h *hold) param(n *Node, p *Param) cParam {
	c := cParam{kind: tensorParam, name: h.str(p.Name)}
	if p.Dims != nil {
		c.tensor = h.tensor(p.tensor(n), 0)
		return c
	}
	c.kind = scalarParam
	var value [8]byte
	copy(value[:], p.Data)
	*(*cScalar)(unsafe.Pointer(&c.tensor)) = cScalar{dtype: uint32(p.Type), value: *(*uint64)(unsafe.Pointer(&value))}
	return c
}

// tensor returns the constant that stands for p of n.
func (p *Param) tensor(n *Node) *Tensor {
	return &Tensor{Name: n.Name + "." + p.Name, Kind: Static, Type: p.Type, Dims: p.Dims, Data: p.Data}
}
