package lowertest

import (
	"fmt"
	"math"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// shapes are rows and columns: single, odd, wider than a vector register, none.
var shapes = [][2]int{{1, 1}, {1, 64}, {3, 7}, {9, 33}, {17, 130}, {0, 16}}

// elementwise returns the cases of ops that work on one row at a time.
func elementwise() []testCase {
	var cs []testCase
	for _, s := range shapes {
		dims, k := lower.Dims{"T": s[0]}, s[1]
		add := func(op string, weights params, build func(b *ir.Builder, x *ir.Value) *ir.Value) {
			cs = append(cs, newCase(fmt.Sprintf("%s %v", op, s), dims, weights, func(b *ir.Builder) []*ir.Value {
				return []*ir.Value{build(b, b.Input("x", f32(ir.T, n(k))))}
			}))
		}
		add("affine", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Affine(x, -1.5, 0.25) })
		add("silu", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.SiLU(x) })
		add("sigmoid", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Sigmoid(x) })
		add("clamp", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Clamp(x, 0.75) })
		add("softmax", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Softmax(x) })
		add("sum", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Sum(x) })
		add("slice", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Slice(x, k/3, k-k/4) })
		add("concat", nil, func(b *ir.Builder, x *ir.Value) *ir.Value {
			return b.Concat(x, b.Input("y", f32(ir.T, n(3))), x)
		})
		add("reshape", nil, func(b *ir.Builder, x *ir.Value) *ir.Value {
			return b.SiLU(b.Reshape(x, ir.T, n(1), n(k)))
		})
		for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
			add(fmt.Sprint("rmsnorm gain ", d), params{"norm.weight": ir.Tensor(d, n(k))}, func(b *ir.Builder, x *ir.Value) *ir.Value {
				return b.RMSNorm(x, "norm", 1e-5)
			})
			add(fmt.Sprint("add bias ", d), params{"bias": ir.Tensor(d, n(k))}, func(b *ir.Builder, x *ir.Value) *ir.Value {
				return b.Add(x, b.Weight("bias"))
			})
		}
		cs = append(cs, binary(s)...)
	}
	cs = append(cs, byHead()...)
	return append(cs, extremes()...)
}

// binary returns the arithmetic of two operands in each way that y may spread.
func binary(s [2]int) []testCase {
	var cs []testCase
	for _, op := range []*ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div} {
		for how, y := range map[string]ir.Type{"same": f32(ir.T, n(s[1])), "vector": f32(n(s[1])), "column": f32(ir.T, n(1))} {
			c := newCase(fmt.Sprintf("%s %s %v", op, how, s), lower.Dims{"T": s[0]}, params{"y": y}, func(b *ir.Builder) []*ir.Value {
				x, w := b.Input("x", f32(ir.T, n(s[1]))), (*ir.Value)(nil)
				if w = nil; how == "vector" {
					w = b.Weight("y")
				} else {
					w = b.Input("y", y)
				}
				return []*ir.Value{b.Op(op, nil, x, w)}
			})
			if op == ir.Div {
				for i, e := range c.in["y"].F {
					c.in["y"].F[i] = e + float32(math.Copysign(0.5, float64(e)))
				}
			}
			cs = append(cs, c)
		}
	}
	return cs
}

// byHead returns ops over the last of three axes.
func byHead() []testCase {
	shape := f32(ir.T, n(3), n(10))
	one := func(name string, weights params, build func(b *ir.Builder, x *ir.Value) *ir.Value) testCase {
		return newCase(name+" by head", lower.Dims{"T": 5}, weights, func(b *ir.Builder) []*ir.Value {
			return []*ir.Value{build(b, b.Input("x", shape))}
		})
	}
	return []testCase{
		one("rmsnorm", params{"norm.weight": f32(n(10))}, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.RMSNorm(x, "norm", 1e-6) }),
		one("softmax", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Softmax(x) }),
		one("slice", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Slice(x, 4, 10) }),
		one("concat", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Concat(b.Slice(x, 5, 10), b.Slice(x, 0, 5)) }),
		one("mul column", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Mul(x, b.Sum(x)) }),
		one("add vector", params{"y": f32(n(10))}, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Add(x, b.Weight("y")) }),
		one("reshape", nil, func(b *ir.Builder, x *ir.Value) *ir.Value { return b.SiLU(b.Reshape(x, ir.T, n(30))) }),
	}
}

// extremes returns values at which a careless formula overflows.
func extremes() []testCase {
	big := []float32{-3e38, -1e4, -104, -88, -1e-40, 0, 1e-40, 17, 88.5, 104, 1e4, 3e38}
	var cs []testCase
	for name, op := range map[string]func(b *ir.Builder, x *ir.Value) *ir.Value{
		"sigmoid": func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Sigmoid(x) },
		"silu":    func(b *ir.Builder, x *ir.Value) *ir.Value { return b.SiLU(x) },
		"softmax": func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Softmax(x) },
		"clamp":   func(b *ir.Builder, x *ir.Value) *ir.Value { return b.Clamp(x, 100) },
	} {
		c := newCase(name+" of extreme values", lower.Dims{"T": 1}, nil, func(b *ir.Builder) []*ir.Value {
			return []*ir.Value{op(b, b.Input("x", f32(ir.T, n(len(big)))))}
		})
		cs = append(cs, c.with(map[string]*interp.Tensor{"x": interp.Floats(big, 1, len(big))}))
	}
	return cs
}
