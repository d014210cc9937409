package kernel

import (
	"encoding/binary"
	"errors"
	"math"

	"estream/ir"
	"estream/lower"
)

// a8Block is how many values share a scale in a8g128.
const a8Block = 128

// a8RowBytes is lower.ActivationRow of a8 or, where blocks is set, of a8g128.
func a8RowBytes(k int, blocks bool) int {
	if blocks {
		return lower.ActivationRow(ir.A8G128, k)
	}
	return lower.ActivationRow(ir.A8, k)
}

func a8Groups(k int, blocks bool) int {
	if blocks {
		return k / a8Block
	}
	return 1
}

// QuantizeA8 rounds x [rows,k] to rows of a8, or of a8g128 where blocks is set
// and 128 divides k: in f32, s = max|x|/127 and q = round-half-even(x*(1/s)) for
// a row or block; one of zeros, or so small that 1/s is infinite, has s = 0 and
// codes 0. Gaps of dst are zeroed. An infinity or NaN is a RowError.
func (s *Set) QuantizeA8(dst []byte, x []float32, rows, k int, blocks bool) error {
	stride, n, at := a8RowBytes(k, blocks), a8Groups(k, blocks), lower.ScaleOffset(k)
	for r := range rows {
		row, out := x[r*k:(r+1)*k], dst[r*stride:(r+1)*stride]
		clear(out[k:])
		if s.vec != nil {
			if !s.vec.quantize(out[:k], out[at:], row, n) {
				return notFinite(r)
			}
			continue
		}
		for g := range n {
			s, ok := quantizeGroup(out[g*k/n:(g+1)*k/n], row[g*k/n:(g+1)*k/n])
			if !ok {
				return notFinite(r)
			}
			binary.LittleEndian.PutUint32(out[at+4*g:], math.Float32bits(s))
		}
	}
	return nil
}

func notFinite(row int) error {
	return &lower.RowError{Row: row, Err: errors.New("it holds an infinity or NaN")}
}

// quantize writes the codes and scales of x in n groups; false if x is not finite.
func (v *vecSet) quantize(codes, scales []byte, x []float32, n int) bool {
	k := len(x) / n
	v.run(vecQuantize, &vecArgs{bytes: codes, scales: scales, x: x, n: k, rows: n, bytesStride: k, xStride: 4 * k, scalesStride: 4})
	for g := range n {
		if binary.LittleEndian.Uint32(scales[4*g:]) >= infinite {
			return false
		}
	}
	return true
}

const infinite = 0x7f800000 // the bits of f32's infinity

// quantizeGroup writes the codes of x and returns their scale; false if x is not finite.
func quantizeGroup(dst []byte, x []float32) (float32, bool) {
	var top uint32 // bits without sign order as magnitudes do
	for _, v := range x {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	if top >= infinite {
		return 0, false
	}
	s := math.Float32frombits(top) / 127
	inv := 1 / s
	if math.IsInf(float64(inv), 0) {
		clear(dst)
		return 0, true
	}
	const magic = 3 << 22 // adding it leaves no fraction bits, so the sum is rounded half to even
	for i, v := range x[:len(dst)] {
		dst[i] = byte(int32(float32(float32(v*inv)+magic) - magic))
	}
	return s, true
}
