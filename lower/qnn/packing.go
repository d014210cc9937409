package qnn

import (
	"encoding/binary"
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
	return lower.Packing{Name: "qnn", Size: packedSize, Pack: pack, Unpack: unpack, Rows: unpackRows}
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
	parts, n, end := layOut(t)
	return parts[:n], end, nil
}

// layOut is partsOf a type that has a form.
func layOut(t ir.Type) (parts [3]part, count int, end int64) {
	n, k := int64(t.Dims[0].N), t.Dims[1].N
	add := func(cols, bytes int) {
		parts[count] = part{end, n * int64(cols*bytes), cols}
		count++
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
	return parts, count, end
}

// formless returns why the packing has no form of t, or nothing.
func formless(t ir.Type) string {
	switch {
	case t.Rank() != 2 || t.Dims[0].Sym != "" || t.Dims[1].Sym != "" || !t.DType.Float() && !t.DType.Encoded():
		return "which is no matrix of numbers"
	case !wholeGroups(t):
		return "whose rows are not whole groups"
	case t.DType.Full():
		return "whose codes reach -8: pack with --encoding w4"
	}
	return ""
}

func wholeGroups(t ir.Type) bool {
	k := t.Last().N
	return k > 0 && k%t.DType.Group(k) == 0
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
	if _, err := checkSize(src, t); err != nil {
		return nil, err
	}
	m := &quant.Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Dims[1].N, Factor: 1}
	if t.DType.Float() {
		m.F = make([]float32, m.N*m.K)
	} else {
		m.Q, m.Scale = make([]int8, m.N*m.K), make([]uint16, m.N*m.K/t.DType.Group(m.K))
	}
	unpackRows(m, src, t, 0)
	return m, nil
}

func unpackRows(m *quant.Matrix, src []byte, t ir.Type, from int) {
	parts, _, _ := layOut(t)
	switch {
	case t.DType == ir.F16:
		lower.Decode(m.F, src[2*from*m.K:2*(from+m.N)*m.K], ir.F16)
	case t.DType.Float():
		lower.Decode(m.F, src[4*from*m.K:4*(from+m.N)*m.K], ir.F32)
	case t.DType == ir.W8:
		copy(m.Q, lower.I8(src[from*m.K:(from+m.N)*m.K]))
		copy(m.Scale, scalesIn(src, parts[1])[from:])
	default:
		for n := range m.N {
			unpackHalves(m, n, src, &parts, from+n)
		}
	}
}

// unpackHalves sets row n of m to the given row of an int4 matrix.
func unpackHalves(m *quant.Matrix, n int, src []byte, parts *[3]part, row int) {
	half, cols, g := m.K/2, parts[1].cols, m.DType.Group(m.K)
	codes, scales := m.Q[n*m.K:(n+1)*m.K], m.Scale[n*(m.K/g):(n+1)*(m.K/g)]
	splitCodes(codes[:half], codes[half:], src[row*half:(row+1)*half])
	high, low := scalesIn(src, parts[1])[row*cols:], scalesIn(src, parts[2])[row*cols:]
	for j, b := 0, half/cols; j < cols; j++ {
		s := high[j]
		if s&0x7fff != 0 {
			s += exponents
		}
		scales[j*b/g] = s
		scales[(half+j*b)/g] = low[j]
	}
}

// splitCodes parts bytes 16*h+l, eight at a time: half a row is a multiple of 16.
func splitCodes(high, low []int8, src []byte) {
	for ; len(src) > 0; high, low, src = high[8:], low[8:], src[8:] {
		v := binary.LittleEndian.Uint64(src)
		up := v >> 3 & ones // where l is negative h is one more than the upper four bits
		put((*[8]int8)(high), (biased(v>>4)+up)^0x80*ones)
		put((*[8]int8)(low), biased(v)^0x80*ones)
	}
}

const ones = 0x0101010101010101 // 1 in each byte

// biased returns the lower four bits of each byte, which are signed, plus 128, so
// that no byte borrows from the next.
func biased(v uint64) uint64 { return (v&(0x0f*ones) ^ 0x88*ones) - 8*ones }

func put(dst *[8]int8, v uint64) {
	dst[0], dst[1], dst[2], dst[3] = int8(v), int8(v>>8), int8(v>>16), int8(v>>24)
	dst[4], dst[5], dst[6], dst[7] = int8(v>>32), int8(v>>40), int8(v>>48), int8(v>>56)
}
