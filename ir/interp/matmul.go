package interp

import (
	"fmt"
	"math"

	"estream/ir/quant"
)

func matMul(c *Call) (*Tensor, error) {
	x, w, out := c.Args[0], c.Args[1], New(c.Type)
	rows, k := x.rows()
	n, _ := w.rows()
	buf := make([]float32, k)
	for j := range n {
		if x.Type.DType.Activation() {
			for i := range rows {
				out.F[i*n+j] = wholeDot(x, i, w, j)
			}
			continue
		}
		wj := w.row(j, buf)
		for i := range rows {
			s := 0.0
			for l, e := range x.F[i*k : (i+1)*k] {
				s += float64(e) * float64(wj[l])
			}
			out.F[i*n+j] = float32(s)
		}
	}
	return out, nil
}

// wholeDot is row i of an activation times row j of an encoded weight. Where
// both scales are constant the sum is of whole numbers and exact; then it is
// scaled by the weight's groups, the activation's blocks, and the factor.
func wholeDot(x *Tensor, i int, w *Tensor, j int) float32 {
	_, k := x.rows()
	block, group := x.Type.DType.Group(k), w.Type.DType.Group(k)
	run := min(block, group) // divides both
	a, q, total := x.A[i*k:], w.Q.Q[j*k:], 0.0
	for b := 0; b < k; b += block {
		s := 0.0
		for r := b; r < b+block; r += run {
			dot := 0
			for l := r; l < r+run; l++ {
				dot += int(a[l]) * int(q[l])
			}
			s += float64(dot) * float64(quant.FromF16(w.Q.Scale[(j*k+r)/group]))
		}
		total += s * float64(x.Scale[(i*k+b)/block])
	}
	return float32(total * float64(w.Q.Factor))
}

// quantize rounds each block to codes -127..127 and a scale. A block whose
// scale has no finite inverse counts as zero.
func quantize(c *Call) (*Tensor, error) {
	x, out := c.Args[0].F, New(c.Type)
	_, k := out.rows()
	g := c.Type.DType.Group(k)
	for b := range out.Scale {
		top := float32(0)
		for i, e := range x[b*g : (b+1)*g] {
			if e-e != 0 {
				return nil, fmt.Errorf("token %d: element %d is %v", b*g/k, (b*g+i)%k, e)
			}
			top = max(top, e, -e)
		}
		scale := top / 127
		inverse := 1 / scale
		if math.IsInf(float64(inverse), 0) {
			continue
		}
		out.Scale[b] = scale
		for i := b * g; i < (b+1)*g; i++ {
			out.A[i] = int8(math.RoundToEven(float64(x[i] * inverse)))
		}
	}
	return out, nil
}
