package qnn

import (
	"fmt"
	"math"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// Packing is how QNN's graphs read matrices, each part at a multiple of 64 bytes:
//
//	f32, f16   [N,K] numbers
//	bf16       [N,K] f32, which QNN has and bf16 it has not
//	w8         [N,K] int8 codes; [N] f16 scales
//	w4         [N,K/2] bytes 16*h+l, h the code of column k and l that of k+K/2;
//	           [N,K/2/b] f16 scales of h, a 16th of what they are; [N,K/2/b] f16 scales of l
//
// b is the group, or half of it where a row has an odd number of groups: the
// group in the middle of the row then has its scale in both halves.
func Packing() lower.Packing {
	return lower.Packing{Name: "qnn", Size: packedSize, Pack: pack, Unpack: unpack}
}

// A packedForOther is a refusal of a weight that another backend's programs read. It
// wraps lower.ErrUnsupported, whose text would follow the remedy and say nothing.
type packedForOther struct {
	weight          *ir.Value
	packing, device string
}

func (e *packedForOther) Error() string {
	return fmt.Sprintf("%s is packed as %s, which %s does not read: estream repack --backend %[3]s PACKAGE NEW", e.weight.Label(), e.packing, e.device)
}

func (e *packedForOther) Unwrap() error { return lower.ErrUnsupported }

// A part is a run of a packed matrix that a graph reads as one tensor.
type part struct {
	off, len int64
	cols     int // elements a row
}

// partsOf returns the parts of a packed matrix in order, and its bytes.
func partsOf(t ir.Type) ([]part, int64, error) {
	if why := formless(t); why != "" {
		return nil, 0, fmt.Errorf("packing qnn has no form of %s, %s: %w", t, why, lower.ErrUnsupported)
	}
	n, k := int64(t.Dims[0].N), t.Dims[1].N
	var parts []part
	end := int64(0)
	add := func(cols, bytes int) {
		parts = append(parts, part{end, n * int64(cols*bytes), cols})
		end += lower.RoundUp(n*int64(cols*bytes), lower.Align)
	}
	switch {
	case t.DType == ir.F16:
		add(k, 2)
	case t.DType.Float():
		add(k, 4)
	case t.DType == ir.W8:
		add(k, 1)
		add(1, 2)
	default:
		half := k / 2 / block(t)
		add(k/2, 1)
		add(half, 2)
		add(half, 2)
	}
	return parts, end, nil
}

// formless returns why the packing has no form of t, or nothing.
func formless(t ir.Type) string {
	switch {
	case t.Rank() != 2 || t.Dims[0].Sym != "" || t.Dims[1].Sym != "" || !t.DType.Float() && !t.DType.Encoded():
		return "which is no matrix of numbers"
	case t.DType.Full():
		return "whose codes reach -8: pack with --encoding w4"
	}
	return ""
}

// block returns how many columns of half a row of an int4 matrix share a scale.
func block(t ir.Type) int {
	g := t.DType.Group(t.Last().N)
	if t.Last().N/g%2 == 1 {
		return g / 2
	}
	return g
}

func packedSize(t ir.Type) (int64, error) {
	_, n, err := partsOf(t)
	return n, err
}

func checkSize(bytes []byte, t ir.Type) ([]part, error) {
	parts, size, err := partsOf(t)
	if err == nil && int64(len(bytes)) != size {
		err = fmt.Errorf("packing qnn: %d bytes for %s, want %d", len(bytes), t, size)
	}
	return parts, err
}

func pack(dst []byte, m *quant.Matrix) error {
	parts, err := checkSize(dst, ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K)))
	if err != nil {
		return err
	}
	clear(dst)
	switch {
	case m.DType == ir.F16:
		lower.Encode(dst, m.F, ir.F16)
	case m.DType.Float():
		lower.Encode(dst, m.F, ir.F32)
	case m.DType == ir.W8:
		copy(lower.I8(dst), m.Q)
		copy(lower.U16(dst[parts[1].off:]), m.Scale)
	default:
		return packHalves(dst, m, parts)
	}
	return nil
}

func packHalves(dst []byte, m *quant.Matrix, parts []part) error {
	half := m.K / 2
	for i := range m.N * half {
		row := m.Q[i/half*m.K:]
		dst[i] = byte(16*row[i%half] + row[i%half+half])
	}
	high, low := scalesIn(dst, parts[1]), scalesIn(dst, parts[2])
	cols := parts[1].cols
	for i := range high {
		s, at := scaleAt(m, i/cols, i%cols), 0
		if high[i], at = sixteenth(s[0]), i%cols; high[i] == notNormal {
			return fmt.Errorf("packing qnn: row %d, block %d: scale %v is below 2^-10, a 16th of which half precision has not: pack the checkpoint with --encoding w8", i/cols, at, quant.FromF16(s[0]))
		}
		low[i] = s[1]
	}
	return nil
}

func scalesIn(b []byte, p part) []uint16 { return lower.U16(b[p.off : p.off+p.len]) }

// scaleAt returns the scales of block j of both halves of row n.
func scaleAt(m *quant.Matrix, n, j int) [2]uint16 {
	g := m.DType.Group(m.K)
	b := block(ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K)))
	row := m.Scale[n*(m.K/g):]
	return [2]uint16{row[j*b/g], row[(m.K/2+j*b)/g]}
}

const (
	exponents = 4 << 10 // of half precision, 16 as a step of the exponent
	notNormal = math.MaxUint16
)

// sixteenth returns a scale divided by 16, or notNormal if that is too small.
func sixteenth(s uint16) uint16 {
	switch {
	case s&0x7fff == 0:
		return s
	case s&0x7fff < exponents+1<<10:
		return notNormal
	}
	return s - exponents
}

func unpack(src []byte, t ir.Type) (*quant.Matrix, error) {
	parts, err := checkSize(src, t)
	if err != nil {
		return nil, err
	}
	m := &quant.Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Dims[1].N, Factor: 1}
	switch {
	case t.DType.Float():
		m.F = make([]float32, m.N*m.K)
		from := ir.F32
		if t.DType == ir.F16 {
			from = ir.F16
		}
		lower.Decode(m.F, src, from)
	case t.DType == ir.W8:
		m.Q = append(m.Q, lower.I8(src[:m.N*m.K])...)
		m.Scale = append(m.Scale, scalesIn(src, parts[1])...)
	default:
		unpackHalves(m, src, parts)
	}
	return m, nil
}

func unpackHalves(m *quant.Matrix, src []byte, parts []part) {
	half, g := m.K/2, m.DType.Group(m.K)
	m.Q = make([]int8, m.N*m.K)
	for i := range m.N * half {
		row, v := m.Q[i/half*m.K:], int(int8(src[i]))
		h := (v + 8) >> 4
		row[i%half], row[i%half+half] = int8(h), int8(v-16*h)
	}
	b, cols := half/parts[1].cols, parts[1].cols
	high, low := scalesIn(src, parts[1]), scalesIn(src, parts[2])
	m.Scale = make([]uint16, m.N*m.K/g)
	for i := range high {
		row := m.Scale[i/cols*(m.K/g):]
		if high[i]&0x7fff != 0 {
			row[i%cols*b/g] = high[i] + exponents
		}
		row[(half+i%cols*b)/g] = low[i]
	}
}
