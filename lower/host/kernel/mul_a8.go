package kernel

import (
	"encoding/binary"
	"math"

	"estream/ir"
	"estream/lower"
)

// MulA8 multiplies quantized rows by panels from..to-1 of w, an encoded matrix:
// for each row r and each column n of those panels it sets dst[r*stride+n]. x is
// rows of a8, or of a8g128 where blocks is set, as QuantizeA8 writes them.
//
// Segments of K are the smaller of w's group and of x's block. A segment's sum
// of products is exact in int32. In ascending order, in f32,
// acc += float32(sum)*scale(w), in blocks times the block's scale before it is
// added; then acc is multiplied by the row's scale (without blocks), then by Factor.
func (s *Set) MulA8(w *Matrix, dst []float32, stride int, x []byte, blocks bool, rows, from, to int) {
	size := a8RowBytes(w.K, blocks)
	var sums [tileRows][PanelColumns]float32
	for p := from; p < to; p++ {
		cols := w.columns(p)
		for r0 := 0; r0 < rows; r0 += tileRows {
			sums := sums[:min(tileRows, rows-r0)]
			clear(sums)
			w.mulSegments(sums, x[r0*size:], p, blocks)
			for r := range sums {
				scale := float32(1)
				if !blocks {
					scale = a8Scale(x[(r0+r)*size:], w.K, 0)
				}
				out := dst[(r0+r)*stride+p*PanelColumns:][:cols]
				for c := range out {
					out[c] = sums[r][c] * scale * w.Factor
				}
			}
		}
	}
}

// mulSegments adds the segments of panel p to the sums of the first rows of x.
func (w *Matrix) mulSegments(sums [][PanelColumns]float32, x []byte, p int, blocks bool) {
	group := w.DType.Group(w.K)
	segment, step := group, kStep(w.DType)
	if blocks {
		segment = min(group, a8Block)
	}
	panel, size := w.panel(p), a8RowBytes(w.K, blocks)
	var scales [PanelColumns]float32
	for k := 0; k < w.K; k += segment {
		decodeScales(&scales, w.scales(p, k/group))
		steps := (segment + step - 1) / step
		codes := panel[k/step*blockBytes:][:steps*blockBytes]
		for r := range sums {
			row := x[r*size : (r+1)*size]
			block := float32(1)
			if blocks {
				block = a8Scale(row, w.K, k/a8Block)
			}
			addSegment(&sums[r], codes, row[k:k+steps*step], &scales, block, w.DType == ir.W8)
		}
	}
}

// addSegment adds one segment of one row. Codes carry a zero point; what it adds
// is the zero point times the sum of x. Past K, codes are zero and so x may be anything.
func addSegment(sums *[PanelColumns]float32, codes, x []byte, scales *[PanelColumns]float32, block float32, w8 bool) {
	dot, zero := dotW4, int32(8)
	if w8 {
		dot, zero = dotW8, 128
	}
	total := int32(0)
	for _, v := range x {
		total += int32(int8(v))
	}
	total *= zero
	for c := 0; c < PanelColumns; c += 8 {
		s, t := (*[8]float32)(sums[c:]), (*[8]float32)(scales[c:])
		for i, pair := range dot(codes[4*c:], x) {
			lo := int32(pair)
			hi := int32((pair - uint64(lo)) >> 32)
			s[2*i] += float32(float32(lo-total) * t[2*i] * block)
			s[2*i+1] += float32(float32(hi-total) * t[2*i+1] * block)
		}
	}
}

// dotW4 returns the sums of x times the codes of eight columns, q + 8, in pairs:
// column 2i's plus 1<<32 times column 2i+1's. A 64-bit word holds two columns'
// codes of eight k; shifted and masked, it is two codes 32 bits apart, and times
// x two products, whose sums meet only in a borrow.
func dotW4(codes, x []byte) [4]uint64 {
	const mask = 0x0000000f_0000000f
	var a, b, c, d uint64
	for at := 0; len(x) >= 8; at += blockBytes {
		w := (*[32]byte)(codes[at:])
		w0, w1 := binary.LittleEndian.Uint64(w[0:]), binary.LittleEndian.Uint64(w[8:])
		w2, w3 := binary.LittleEndian.Uint64(w[16:]), binary.LittleEndian.Uint64(w[24:])
		x0, x1, x2, x3 := uint64(int8(x[0])), uint64(int8(x[1])), uint64(int8(x[2])), uint64(int8(x[3]))
		a += times(w0, mask, x0, x1, x2, x3)
		b += times(w1, mask, x0, x1, x2, x3)
		c += times(w2, mask, x0, x1, x2, x3)
		d += times(w3, mask, x0, x1, x2, x3)
		x0, x1, x2, x3 = uint64(int8(x[4])), uint64(int8(x[5])), uint64(int8(x[6])), uint64(int8(x[7]))
		a += times(w0>>4, mask, x0, x1, x2, x3)
		b += times(w1>>4, mask, x0, x1, x2, x3)
		c += times(w2>>4, mask, x0, x1, x2, x3)
		d += times(w3>>4, mask, x0, x1, x2, x3)
		x = x[8:]
	}
	return [4]uint64{a, b, c, d}
}

// dotW8 is dotW4 for codes of a byte, q + 128, four k to a word.
func dotW8(codes, x []byte) [4]uint64 {
	const mask = 0x000000ff_000000ff
	var a, b, c, d uint64
	for at := 0; len(x) >= 4; at += blockBytes {
		w := (*[32]byte)(codes[at:])
		x0, x1, x2, x3 := uint64(int8(x[0])), uint64(int8(x[1])), uint64(int8(x[2])), uint64(int8(x[3]))
		a += times(binary.LittleEndian.Uint64(w[0:]), mask, x0, x1, x2, x3)
		b += times(binary.LittleEndian.Uint64(w[8:]), mask, x0, x1, x2, x3)
		c += times(binary.LittleEndian.Uint64(w[16:]), mask, x0, x1, x2, x3)
		d += times(binary.LittleEndian.Uint64(w[24:]), mask, x0, x1, x2, x3)
		x = x[4:]
	}
	return [4]uint64{a, b, c, d}
}

// times adds up the products of four x with the codes that stand 8 bits apart.
func times(w, mask, x0, x1, x2, x3 uint64) uint64 {
	return (w&mask)*x0 + (w>>8&mask)*x1 + (w>>16&mask)*x2 + (w>>24&mask)*x3
}

func decodeScales(dst *[PanelColumns]float32, src *[scaleBytes]byte) {
	for c := range dst {
		dst[c] = half(binary.LittleEndian.Uint16(src[2*c:]))
	}
}

// a8Scale returns scale g of a row of k quantized values.
func a8Scale(row []byte, k, g int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(row[lower.ScaleOffset(k)+4*g:]))
}
