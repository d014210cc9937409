package qnn

import (
	"fmt"
	"math"

	"estream/ir"
	"estream/lower"
)

// kind says what an input of a QNN graph holds.
type kind string

const (
	plain   kind = "plain"   // bytes of an input or weight, converted where from and to differ
	factor  kind = "factor"  // a weight's factor times a number
	cosines kind = "cosines" // of the angles of positions
	sines   kind = "sines"
)

// A binding says what a call gives an input of a QNN graph.
type binding struct {
	kind     kind
	weight   bool // i counts weights; otherwise inputs
	i        int
	name     string
	off      int64    // of plain: where in the operand's bytes
	bytes    int64    // what the input takes
	from, to ir.DType // float types of the operand and of the input; of plain, equal where bytes are taken as they are
	times    float32  // of factor
	turn     ir.RoPEAttr
	width    int   // of cosines and sines: numbers a position
	place    int64 // where the host makes it ready
}

// made reports whether the host makes the input's bytes.
func (b *binding) made() bool { return b.kind != plain || b.from != b.to }

// bind returns the bytes of the input, operand being those of the call's buffer.
// What is made stands in ready.
func (b *binding) bind(operand []byte, f float32, ready []byte) ([]byte, error) {
	if b.kind == plain && !b.made() {
		return window(operand, b.off, b.bytes)
	}
	dst := ready[b.place : b.place+b.bytes]
	switch b.kind {
	case plain:
		src, err := window(operand, 0, b.bytes*int64(b.from.Bits())/int64(b.to.Bits()))
		if err != nil {
			return nil, err
		}
		convert(dst, b.to, src, b.from)
	case factor:
		return dst, b.factor(dst, f)
	default:
		src, err := window(operand, 0, b.bytes*8/int64(b.to.Bits()*b.width)*4)
		if err != nil {
			return nil, err
		}
		b.angles(dst, lower.I32(src))
	}
	return dst, nil
}

// convert writes the numbers of src, of one float type, as another.
func convert(dst []byte, to ir.DType, src []byte, from ir.DType) {
	var number [64]float32
	for len(src) > 0 {
		some := number[:min(len(number), len(src)*8/from.Bits())]
		lower.Decode(some, src, from)
		lower.Encode(dst, some, to)
		src, dst = src[len(some)*from.Bits()/8:], dst[len(some)*to.Bits()/8:]
	}
}

func window(b []byte, off, n int64) ([]byte, error) {
	if n > int64(len(b))-off {
		return nil, fmt.Errorf("%d bytes, want %d", len(b), off+n)
	}
	return b[off : off+n], nil
}

// factor writes the weight's factor times a number: powers of two, both.
func (b *binding) factor(dst []byte, f float32) error {
	if err := lower.CheckFactor(f); err != nil {
		return err
	}
	f *= b.times
	if b.to == ir.F16 && (f < 0x1p-14 || f > 0x1p15) {
		return fmt.Errorf("factor %v is beyond half precision: estream pack --backend qnn-htp --encoding bf16 CHECKPOINT NEW", f)
	}
	lower.Encode(dst, []float32{f}, b.to)
	return nil
}

// angles writes a row of cosines or sines for each position.
func (b *binding) angles(dst []byte, pos []int32) {
	var one [1]float32
	size, scale := b.to.Bits()/8, scaleOf(b.turn)
	for _, p := range pos {
		for j := range b.width {
			sin, cos := math.Sincos(float64(p) * turnOf(b.turn, j, b.width))
			if one[0] = float32(sin * scale); b.kind == cosines {
				one[0] = float32(cos * scale)
			}
			lower.Encode(dst, one[:], b.to)
			dst = dst[size:]
		}
	}
}

func scaleOf(a ir.RoPEAttr) float64 {
	if a.Scale == 0 {
		return 1
	}
	return a.Scale
}

// turnOf is by what pair i of n turns for each position: see ir.RoPEAttr.
func turnOf(a ir.RoPEAttr, i, n int) float64 {
	f := math.Pow(a.Theta, -float64(i)/float64(n))
	if a.Factor == 0 {
		return f
	}
	slow := 0.0
	switch at := float64(i); {
	case a.High > a.Low:
		slow = min(max((at-a.Low)/(a.High-a.Low), 0), 1)
	case at >= a.Low:
		slow = 1
	}
	return f*(1-slow) + f/a.Factor*slow
}
