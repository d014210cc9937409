package interp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"estream/ir"
)

// byRow calls f with each row of the last axis of the first operand and the
// result.
func byRow(c *Call, f func(out, x []float32)) *Tensor {
	out := New(c.Type)
	n, k := c.Args[0].rows()
	_, m := out.rows()
	for i := range n {
		f(out.F[i*m:(i+1)*m], c.Args[0].F[i*k:(i+1)*k])
	}
	return out
}

func sum(c *Call) (*Tensor, error) {
	return byRow(c, func(out, x []float32) {
		s := 0.0
		for _, e := range x {
			s += float64(e)
		}
		out[0] = float32(s)
	}), nil
}

func softmax(c *Call) (*Tensor, error) {
	return byRow(c, func(out, x []float32) {
		p := make([]float64, len(x))
		for i, e := range x {
			p[i] = float64(e)
		}
		for i, e := range normalize(p) {
			out[i] = float32(e)
		}
	}), nil
}

// normalize replaces scores by their softmax.
func normalize(p []float64) []float64 {
	if len(p) == 0 {
		return p
	}
	top, s := slices.Max(p), 0.0
	for i := range p {
		p[i] = math.Exp(p[i] - top)
		s += p[i]
	}
	for i := range p {
		p[i] /= s
	}
	return p
}

func rmsNorm(c *Call) (*Tensor, error) {
	gain, eps := c.Args[1].F, c.Value.Attr.(ir.EpsAttr).Eps
	return byRow(c, func(out, x []float32) {
		s := 0.0
		for _, e := range x {
			s += float64(e) * float64(e)
		}
		r := 1 / math.Sqrt(s/float64(len(x))+eps)
		for i, e := range x {
			out[i] = float32(float64(e) * r * float64(gain[i]))
		}
	}), nil
}

func topK(c *Call) (*Tensor, error) {
	x, out := c.Args[0], New(c.Type)
	n, k := x.rows()
	_, keep := out.rows()
	for i := range n {
		row, order := x.F[i*k:(i+1)*k], make([]int32, k)
		for j, e := range row {
			if e != e {
				return nil, fmt.Errorf("token %d: place %d is NaN", i, j)
			}
			order[j] = int32(j)
		}
		slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(row[b], row[a]), cmp.Compare(a, b)) })
		copy(out.I[i*keep:(i+1)*keep], order)
	}
	return out, nil
}
