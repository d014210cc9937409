package synth

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"estream/ir"
	"estream/ir/quant"
)

// A law is how the values of a weight are spread: evenly around the mean, with
// that standard deviation.
type law struct{ mean, dev float64 }

// lawOf returns the law of a weight. A map from K values has the deviation
// 1/sqrt(K), so that what it makes of values of size 1 has size 1. Embeddings
// are larger: attention adds to the tokens of a sequence much the same vector in
// each layer, and where that outgrows what tells tokens apart they all go to the
// same few experts (at 1, to 41 of 64 after 16 layers; at 4, evenly).
func lawOf(weight string, t ir.Type) law {
	switch {
	case weight == "embed.weight":
		return law{0, 4}
	case t.Rank() == 1 && strings.HasSuffix(weight, ".weight"):
		return law{1, 0.1} // a gain
	case t.Rank() == 1:
		return law{0, 0.1} // a bias
	}
	return law{0, 1 / math.Sqrt(float64(t.Last().N))}
}

// stream returns the random numbers of a named thing at some place of it.
func stream(seed uint64, name string, place ...int64) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(name))
	for _, p := range place {
		for i := range 8 {
			h.Write([]byte{byte(p >> (8 * i))})
		}
	}
	return rand.NewPCG(seed, h.Sum64())
}

// values sets dst to random values, 16 random bits each.
func (l law) values(r *rand.PCG, dst []float32) {
	for i := 0; i < len(dst); i += 4 {
		u := r.Uint64()
		for j := i; j < min(i+4, len(dst)); j++ {
			dst[j] = l.value(uint16(u))
			u >>= 16
		}
	}
}

// value is rounded after the product and after the sum: the same on all machines.
func (l law) value(bits uint16) float32 {
	return float32(l.mean) + float32(float32(l.dev*math.Sqrt(3)/32768)*float32(int16(bits)))
}

// table lists the value of each 16 random bits, in bf16.
func (l law) table() []uint16 {
	var out []uint16
	for bits := range 1 << 16 {
		out = append(out, quant.BF16(l.value(uint16(bits))))
	}
	return out
}

// block is how many values of a tensor come from one stream.
const block = 4096

// bits sets dst to elements of t from element at on, as stored, two bytes each.
func (m *model) bits(t tensor, at int64, dst []byte) {
	part := make([]byte, 2*block)
	for len(dst) > 0 {
		r, from := stream(m.seed, t.name, at/block), 2*int(at%block)
		if from == 0 && len(dst) >= len(part) {
			t.fill(r, dst[:len(part)])
			dst, at = dst[len(part):], at+block
			continue
		}
		t.fill(r, part)
		n := copy(dst, part[from:])
		dst, at = dst[n:], at+int64(n)/2
	}
}

// fill sets dst, of a multiple of 8 bytes, to random elements.
func (t tensor) fill(r *rand.PCG, dst []byte) {
	for ; len(dst) >= 8; dst = dst[8:] {
		u := r.Uint64()
		a, b, c, d := t.table[uint16(u)], t.table[uint16(u>>16)], t.table[uint16(u>>32)], t.table[u>>48]
		binary.LittleEndian.PutUint64(dst, uint64(a)|uint64(b)<<16|uint64(c)<<32|uint64(d)<<48)
	}
}

// matrix returns a random matrix: values of a plain type, or codes and scales.
func (l law) matrix(r *rand.PCG, d ir.DType, n, k int) (*quant.Matrix, error) {
	if d.Encoded() {
		return l.codes(r, d, n, k), nil
	}
	w := make([]float32, n*k)
	l.values(r, w)
	return quant.Encode(d, n, k, w)
}

// codes returns a matrix of random codes, and scales that give its values the
// law's deviation; they differ by a quarter around their mean.
func (l law) codes(r *rand.PCG, d ir.DType, n, k int) *quant.Matrix {
	m := &quant.Matrix{DType: d, N: n, K: k, Factor: 1, Q: make([]int8, n*k), Scale: make([]uint16, n*k/d.Group(k))}
	bits, half, least := codeRange(d)
	for i := 0; i < len(m.Q); {
		u := r.Uint64()
		for j := 0; j < 64 && i < len(m.Q); j += bits {
			if c := int(u>>j)&(2*half-1) - half; c >= least {
				m.Q[i] = int8(c)
			}
			i++
		}
	}
	mean := l.dev / deviation(half, least)
	if !d.Full() {
		_, exp := math.Frexp(1.25 * mean)
		m.Factor = float32(math.Ldexp(1, exp))
	}
	for i := range m.Scale {
		u := r.Uint64()
		s := mean / float64(m.Factor) * (0.75 + 0.5*float64(u>>11)/(1<<53))
		if d.Full() && u&1 == 1 {
			s = -s
		}
		m.Scale[i] = quant.F16(float32(s))
	}
	return m
}

// codeRange returns the bits of a code, the number of codes below zero that
// the bits could say, and the least code that the encoding has.
func codeRange(d ir.DType) (bits, half, least int) {
	switch {
	case d == ir.W8:
		return 8, 128, -127
	case d.Full():
		return 4, 8, -8
	}
	return 4, 8, -7
}

// deviation is that of codes when every pattern of bits is as likely, and those
// that are no code stand for 0.
func deviation(half, least int) float64 {
	sum := 0
	for c := least; c < half; c++ {
		sum += c * c
	}
	return math.Sqrt(float64(sum) / float64(2*half))
}
