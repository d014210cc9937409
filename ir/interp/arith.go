package interp

import (
	"math"

	"estream/ir"
)

func unary(f func(x float64, attr any) float64) Func {
	return func(c *Call) (*Tensor, error) {
		out := New(c.Type)
		for i, x := range c.Args[0].F {
			out.F[i] = float32(f(float64(x), c.Value.Attr))
		}
		return out, nil
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func affine(x float64, attr any) float64 {
	a := attr.(ir.AffineAttr)
	return x*a.Mul + a.Add
}

func clamp(x float64, attr any) float64 {
	limit := attr.(ir.LimitAttr).Limit
	return max(-limit, min(limit, x))
}

// binary applies f; y has x's extents, or is a vector over the last axis, or
// has 1 there.
func binary(f func(x, y float64) float64) Func {
	return func(c *Call) (*Tensor, error) {
		x, y, out := c.Args[0], c.Args[1], New(c.Type)
		_, k := x.rows()
		for i := range out.F {
			j := i
			switch {
			case len(y.F) == len(x.F):
			case y.Type.Last() == x.Type.Last():
				j = i % k
			default:
				j = i / k
			}
			out.F[i] = float32(f(float64(x.F[i]), float64(y.F[j])))
		}
		return out, nil
	}
}
