package quant

import (
	"fmt"
	"math"
	"slices"

	"estream/ir"
)

// Fit returns the encoding that rows of k values get where d is asked for: an
// int4 encoding with the largest group of 32, 64 or 128 that divides k and d's
// own group, or W8 if none does. Other types fit any k.
func Fit(d ir.DType, k int) ir.DType {
	for _, of := range [][]ir.DType{{ir.W4G128, ir.W4G64, ir.W4G32}, {ir.W4Full128, ir.W4Full64, ir.W4Full32}} {
		asked := false
		for _, e := range of {
			asked = asked || e == d
			if asked && k%e.Group(k) == 0 {
				return e
			}
		}
		if asked {
			return ir.W8
		}
	}
	return d
}

// Encode rounds w [n][k] to d. A weight that is NaN or infinite, or becomes so,
// is an error that names it; so is the largest of a matrix of w8 or w4g* that all
// becomes zero. A group that does, beside larger ones, is no error. Nor is any of
// w4full, which is what GGUF's Q4_0 is.
//
//	f32            keeps w itself
//	bf16, f16      nearest, ties to even
//	w8             for each row, the scale max|w|/127
//	w4g*           for each group, the scale of the least squared error among
//	               those that search tries; never worse than max|w|/7
//	w4full*        for each group, GGUF's Q4_0: the scale is the value of largest
//	               magnitude over -8
//
// Scales are rounded to f16 before codes are chosen, w4full's apart. Factor
// brings the largest scale into [0.5, 1), as far as f32 has such a number; scales
// below 2^-10 (w4g*) or 2^-14 (w8) are raised to it and codes chosen again.
// Factor is 1 for w4full and for a matrix of zeros. The result depends on w alone.
func Encode(d ir.DType, n, k int, w []float32) (*Matrix, error) { return EncodeIn(nil, d, n, k, w) }

// EncodeIn is Encode; where room has room for codes, they are in it, whatever it holds.
func EncodeIn(room []int8, d ir.DType, n, k int, w []float32) (*Matrix, error) {
	m, err := encode(room, d, n, k, w, 0)
	if err != nil {
		return nil, err
	}
	return m, m.checkLost(w)
}

// checkLost reports a matrix whose codes are zeros and that is not all zeros.
func (m *Matrix) checkLost(w []float32) error {
	if !m.DType.Encoded() || m.DType.Full() {
		return nil
	}
	at := 0
	for i, v := range w {
		if m.Q[i] != 0 {
			return nil
		}
		if magnitude(v) > magnitude(w[at]) {
			at = i
		}
	}
	if w[at] == 0 {
		return nil
	}
	return fmt.Errorf("quant: weight [%d,%d] is %v, the largest of its matrix, and too small for %s", at/m.K, at%m.K, w[at], m.DType)
}

// encode is Encode of what may all become zero. A factor that is not 0 is to be
// that of w8 or w4g*.
func encode(room []int8, d ir.DType, n, k int, w []float32, factor float32) (*Matrix, error) {
	if n <= 0 || k <= 0 || len(w)/n != k || len(w)%n != 0 {
		return nil, fmt.Errorf("quant: %d values are no matrix of %d by %d", len(w), n, k)
	}
	if !d.Float() && !d.Encoded() || k%d.Group(k) != 0 {
		return nil, fmt.Errorf("quant: rows of %d values cannot be %s", k, d)
	}
	m := &Matrix{DType: d, N: n, K: k, Factor: 1}
	if d.Encoded() {
		m.Q, m.Scale = slices.Grow(room[:0], len(w))[:len(w)], make([]uint16, len(w)/d.Group(k))
	}
	if d.Encoded() && !d.Full() && m.symmetric(w, factor) {
		return m, nil // it looked for what is not finite
	}
	if i := slices.IndexFunc(w, infinite); i >= 0 {
		return nil, fmt.Errorf("quant: weight [%d,%d] is %v", i/k, i%k, w[i])
	}
	if d.Full() {
		return m, m.full(w)
	}
	return m, m.round(w)
}

// infinite reports whether v is NaN or infinite.
func infinite(v float32) bool { return magnitude(v) >= 0x7f800000 }

// round sets F to w rounded to the plain type.
func (m *Matrix) round(w []float32) error {
	to := map[ir.DType]func(float32) float32{
		ir.BF16: func(v float32) float32 { return FromBF16(BF16(v)) },
		ir.F16:  func(v float32) float32 { return FromF16(F16(v)) },
	}[m.DType]
	if to == nil {
		m.F = w
		return nil
	}
	m.F = make([]float32, len(w))
	for i, v := range w {
		m.F[i] = to(v)
		if math.IsInf(float64(m.F[i]), 0) {
			return fmt.Errorf("quant: weight [%d,%d] is %v, beyond %s", i/m.K, i%m.K, v, m.DType)
		}
	}
	return nil
}
