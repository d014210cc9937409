package interp

import (
	"cmp"
	"math"

	"estream/ir"
)

// rope rotates pair i of each head by pos * turn(i).
func rope(c *Call) (*Tensor, error) {
	a, x, pos, out := c.Value.Attr.(ir.RoPEAttr), c.Args[0], c.Args[1].I, New(c.Type)
	heads, d := x.Type.Dims[1].N, x.Type.Last().N
	scale := cmp.Or(a.Scale, 1)
	n, _ := x.rows()
	for row := range n {
		p := float64(pos[row/heads])
		for i := range d / 2 {
			l, h := i, i+d/2
			if a.Interleaved {
				l, h = 2*i, 2*i+1
			}
			l, h = row*d+l, row*d+h
			sin, cos := math.Sincos(p * turn(a, i, d))
			xl, xh := scale*float64(x.F[l]), scale*float64(x.F[h])
			out.F[l], out.F[h] = float32(xl*cos-xh*sin), float32(xl*sin+xh*cos)
		}
	}
	return out, nil
}

// turn is by how much pair i of d/2 turns a position.
func turn(a ir.RoPEAttr, i, d int) float64 {
	f := math.Pow(a.Theta, -2*float64(i)/float64(d))
	if a.Factor == 0 {
		return f
	}
	share := 0.0
	switch at := float64(i); {
	case a.High > a.Low:
		share = min(max((at-a.Low)/(a.High-a.Low), 0), 1)
	case at >= a.Low:
		share = 1
	}
	return f*(1-share) + f/a.Factor*share
}
