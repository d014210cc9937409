package lowertest

import (
	"fmt"

	"estream/ir"
	"estream/lower"
)

// encodings are the types that a matrix may have.
var encodings = []ir.DType{ir.F32, ir.F16, ir.BF16, ir.W8, ir.W4G32, ir.W4G64, ir.W4G128, ir.W4Full32, ir.W4Full64, ir.W4Full128}

// matmuls returns products of every encoding with every kind of activation: one
// row, tails of rows, columns and inner extents, no rows.
func matmuls() []testCase {
	var cs []testCase
	for _, x := range []ir.DType{ir.F32, ir.A8, ir.A8G128} {
		for _, w := range encodings {
			if x.Activation() && !w.Encoded() {
				continue
			}
			for _, s := range matmulShapes(x, w) {
				cs = append(cs, matmul(x, w, s))
			}
		}
	}
	three := newCase("matmul by head", lower.Dims{"T": 3}, params{"w.weight": f32(n(5), n(12))}, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.Linear(b.Input("x", f32(ir.T, n(2), n(12))), "w")}
	})
	return append(cs, three)
}

// A matmulShape is rows of x, rows of w, and the inner extent.
type matmulShape struct{ t, n, k int }

func matmulShapes(x, w ir.DType) []matmulShape {
	step := 1
	for _, d := range []ir.DType{x, w} {
		if g := d.Group(1); g > step {
			step = g
		}
	}
	if step == 1 {
		return []matmulShape{{1, 1, 1}, {1, 33, 64}, {2, 5, 7}, {3, 32, 33}, {8, 70, 100}, {17, 40, 129}, {0, 8, 16}}
	}
	return []matmulShape{{1, 33, step}, {2, 5, 3 * step}, {9, 70, 2 * step}, {17, 32, 128 * 3}, {0, 8, step}}
}

func matmul(x, w ir.DType, s matmulShape) testCase {
	name := fmt.Sprintf("matmul %s by %s %v", x, w, s)
	return newCase(name, lower.Dims{"T": s.t}, params{"w.weight": ir.Tensor(w, n(s.n), n(s.k))}, func(b *ir.Builder) []*ir.Value {
		return []*ir.Value{b.Linear(b.Input("x", ir.Tensor(x, ir.T, n(s.k))), "w")}
	})
}
