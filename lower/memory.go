package lower

import "estream/ir"

// Align is what starts of tensors within a record, a state or a workspace are
// rounded up to, in bytes.
const Align = 64

// RoundUp returns n rounded up to a multiple of align, a power of two.
func RoundUp(n, align int64) int64 { return (n + align - 1) &^ (align - 1) }

// RowBytes returns the distance between two rows of a tensor, a row being all
// extents but the first (a vector's rows are its elements). Rows of plain types
// are packed without gaps. A row of a8 or a8g128 is K int8 codes, a gap to a
// multiple of 64, then its f32 scales in as many 64-byte lines as they need: it
// is complete in itself, and rows do not fall on the same cache sets.
func RowBytes(t ir.Type) int64 {
	n := int64(1)
	for _, d := range t.Dims[min(1, len(t.Dims)):] {
		n *= int64(d.N)
	}
	if t.DType.Activation() {
		return n / int64(t.Last().N) * int64(ActivationRow(t.DType, t.Last().N))
	}
	return n * int64(t.DType.Bits()) / 8
}

// ActivationRow returns the bytes of a row of k values of d, a8 or a8g128.
func ActivationRow(d ir.DType, k int) int {
	return ScaleOffset(k) + int(RoundUp(4*int64(k/d.Group(k)), Align))
}

// ScaleOffset returns where the scales of such a row start.
func ScaleOffset(k int) int { return int(RoundUp(int64(k), Align)) }

// Size returns the bytes of an activation, or of a state with its parts one
// after another, each at a multiple of Align. All extents must be numbers.
func Size(t ir.Type) int64 {
	if t.DType == ir.State {
		n := int64(0)
		for _, p := range t.Parts {
			n += RoundUp(Size(p), Align)
		}
		return n
	}
	rows := int64(1)
	if len(t.Dims) > 0 {
		rows = int64(t.Dims[0].N)
	}
	return rows * RowBytes(t)
}

// Parts returns the buffers of a state's tensors.
func (b Buffer) Parts() []Buffer {
	var parts []Buffer
	off := b.Off
	for _, t := range b.Type.Parts {
		parts = append(parts, Buffer{Mem: b.Mem, Off: off, Len: Size(t), Type: t})
		off += RoundUp(Size(t), Align)
	}
	return parts
}

// Rows returns rows from to to-1 of an activation.
func (b Buffer) Rows(from, to int) Buffer {
	stride := RowBytes(b.Type)
	t := b.Type
	t.Dims = append([]ir.Dim{ir.N(to - from)}, t.Dims[1:]...)
	return Buffer{Mem: b.Mem, Off: b.Off + int64(from)*stride, Len: int64(to-from) * stride, Type: t}
}

// IsMatrix reports whether weight w of g is read by matmul, and so is packed;
// other weights are plain.
func IsMatrix(g *ir.Graph, w *ir.Value) bool {
	for _, v := range g.Values {
		if v.Op == ir.MatMul && v.Args[1] == w {
			return true
		}
	}
	return false
}
