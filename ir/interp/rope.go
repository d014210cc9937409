package interp

import (
	"math"

	"estream/ir"
)

// rope rotates pair i of each head by pos * theta^(-2i/D).
func rope(c *Call) (*Tensor, error) {
	a, x, pos, out := c.Value.Attr.(ir.RoPEAttr), c.Args[0], c.Args[1].I, New(c.Type)
	heads, d := x.Type.Dims[1].N, x.Type.Last().N
	n, _ := x.rows()
	for row := range n {
		p := float64(pos[row/heads])
		for i := range d / 2 {
			l, h := i, i+d/2
			if a.Interleaved {
				l, h = 2*i, 2*i+1
			}
			l, h = row*d+l, row*d+h
			sin, cos := math.Sincos(p * math.Pow(a.Theta, -2*float64(i)/float64(d)))
			xl, xh := float64(x.F[l]), float64(x.F[h])
			out.F[l], out.F[h] = float32(xl*cos-xh*sin), float32(xl*sin+xh*cos)
		}
	}
	return out, nil
}
