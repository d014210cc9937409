package weights

import (
	"context"
	"fmt"
	"math"

	"estream/ir"
	"estream/ir/quant"
)

// far is how many times their root mean square outliers are from zero.
const far = 6

// Stats are the numbers of a tensor. Those of values that are NaN or infinite are
// left out of all but Odd.
type Stats struct {
	ID
	Type   string
	Shape  []int
	Values int64

	Odd      int64 // NaN or infinite
	Zeros    int64
	Min, Max float64
	Mean     float64
	RMS      float64 // root mean square
	Kurtosis float64 // excess: 0 of a normal distribution, above it where tails are heavy
	Outliers int64   // farther from zero than 6 times RMS, to the 128th part

	Sampled int64  // values that Errors is of
	Errors  []Loss // what each encoding that its rows allow would cost
}

// A Loss is what rounding to an encoding does to values.
type Loss struct {
	Encoding string
	Signal   float64 // sum of the values' squares
	Noise    float64 // sum of the errors' squares
	Max      float64 // the largest error
}

// SNR is the signal to noise ratio in dB; +Inf without noise.
func (l Loss) SNR() float64 { return SNR(l.Signal, l.Noise) }

// SNR is the ratio of two sums of squares in dB: +Inf without noise, NaN without
// both.
func SNR(signal, noise float64) float64 { return 10 * math.Log10(signal/noise) }

// Encodings are those that Measure tries.
func Encodings() []ir.DType {
	return []ir.DType{ir.BF16, ir.W8, ir.W4G32, ir.W4G64, ir.W4G128, ir.W4Full32}
}

// A look is one reading of a tensor.
type look struct {
	Stats
	every  int
	sample []float32

	s1, s2, s3, s4 float64
	magnitudes     []int64 // of values, by the upper half of |x|'s bits
}

// read looks at all values.
func (x *look) read(ctx context.Context, t Tensor, progress func(values int)) error {
	rows, read := t.BlockRows(), t.Open()
	x.Min, x.Max, x.magnitudes = math.Inf(1), math.Inf(-1), make([]int64, 1<<15)
	buf := make([]float32, rows*t.Width())
	for row := 0; row < t.Rows(); row += rows {
		part := buf[:min(rows, t.Rows()-row)*t.Width()]
		if err := read(ctx, row, part); err != nil {
			return err
		}
		x.add(part)
		for r := row; r < row+len(part)/max(1, t.Width()); r++ {
			if r%x.every == 0 {
				x.sample = append(x.sample, part[(r-row)*t.Width():][:t.Width()]...)
			}
		}
		progress(len(part))
	}
	return nil
}

func (x *look) add(values []float32) {
	for _, v := range values {
		bits := math.Float32bits(v) &^ (1 << 31)
		if bits >= 0x7f800000 {
			x.Odd++
			continue
		}
		if bits == 0 {
			x.Zeros++
		}
		f := float64(v)
		x.Min, x.Max = min(x.Min, f), max(x.Max, f)
		square := f * f
		x.s1, x.s2, x.s3, x.s4 = x.s1+f, x.s2+square, x.s3+f*square, x.s4+square*square
		x.magnitudes[bits>>16]++
	}
}

// finish makes the numbers of what was added.
func (x *look) finish(t Tensor) Stats {
	n := float64(x.Values - x.Odd)
	if n == 0 {
		x.Min, x.Max = 0, 0
		return x.Stats
	}
	x.Mean, x.RMS = x.s1/n, math.Sqrt(x.s2/n)
	m, m2 := x.Mean, x.s2/n
	if variance := m2 - m*m; variance > 1e-12*m2 {
		x.Kurtosis = (x.s4/n-4*m*x.s3/n+6*m*m*m2-3*m*m*m*m)/(variance*variance) - 3
	}
	for i := int(math.Float32bits(float32(far*x.RMS))>>16) + 1; i < len(x.magnitudes); i++ {
		x.Outliers += x.magnitudes[i]
	}
	x.Sampled = int64(len(x.sample))
	if x.Odd == 0 && t.Width() > 0 {
		x.Errors = losses(len(x.sample)/t.Width(), t.Width(), x.sample)
	}
	return x.Stats
}

// losses tries encodings on rows of k values.
func losses(rows, k int, w []float32) []Loss {
	var out []Loss
	for _, d := range Encodings() {
		if d.Encoded() && (rows < 2 || quant.Fit(d, k) != d) {
			continue // vectors stay plain
		}
		if l, err := loss(d, rows, k, w); err == nil { // one that has no such values costs no number
			out = append(out, l)
		}
	}
	return out
}

func loss(d ir.DType, rows, k int, w []float32) (Loss, error) {
	m, err := quant.Encode(d, rows, k, w)
	if err != nil {
		return Loss{}, fmt.Errorf("%s: %w", d, err)
	}
	l, got := Loss{Encoding: d.String()}, make([]float32, k)
	for r := range rows {
		m.Row(r, got)
		for i, x := range w[r*k:][:k] {
			e := math.Abs(float64(x) - float64(got[i]))
			l.Signal, l.Noise, l.Max = l.Signal+float64(x)*float64(x), l.Noise+e*e, max(l.Max, e)
		}
	}
	return l, nil
}
