package interp_test

import (
	"math"

	"github.com/x448/float16"

	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
)

type tensors = map[string]*interp.Tensor

// An opCase evaluates the first graph of a text on inputs small enough to check
// by hand. Where a test must show that something is not read, it is NaN.
type opCase struct {
	name, text string
	in         tensors
	want       []*interp.Tensor
}

var (
	f   = interp.Floats
	i   = interp.Ints
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

const ln3 = 1.0986123

// of is x with another float type.
func of(d ir.DType, x *interp.Tensor) *interp.Tensor {
	x.Type.DType = d
	return x
}

func state(k ir.StateKind, parts ...*interp.Tensor) *interp.Tensor {
	t := ir.StateOf(k)
	for _, p := range parts {
		t.Parts = append(t.Parts, p.Type)
	}
	return &interp.Tensor{Type: t, Parts: parts}
}

// activation is rows of codes of k values.
func activation(d ir.DType, k int, codes []int8, scales ...float32) *interp.Tensor {
	return &interp.Tensor{Type: ir.Tensor(d, ir.N(len(codes)/k), ir.N(k)), A: codes, Scale: scales}
}

// matrix is an encoded weight of rows of k values.
func matrix(d ir.DType, k int, factor float32, codes []int8, scales ...float32) *interp.Tensor {
	m := &quant.Matrix{DType: d, N: len(codes) / k, K: k, Q: codes, Factor: factor}
	for _, s := range scales {
		m.Scale = append(m.Scale, float16.Fromfloat32(s).Bits())
	}
	return interp.Matrix(m)
}

// runs is n copies of each code.
func runs(n int, codes ...int8) []int8 {
	var out []int8
	for _, c := range codes {
		for range n {
			out = append(out, c)
		}
	}
	return out
}

// weights1 are the weights of experts of one number, e+1.
func weights1(_ *ir.Value, e int) (tensors, error) {
	return tensors{"expert.w": f([]float32{float32(e + 1)}, 1, 1), "expert.q": matrix(ir.W8, 1, 1, []int8{int8(e + 1)}, 1)}, nil
}

func pair(op string) string {
	return "%1:x = input : f32[T,2]\n  %2:y = input : f32[T,2]\n  %3 = " + op + " %1 %2 : f32[T,2]\n  return %3"
}

func single(op string) string {
	return "%1:x = input : f32[T,2]\n  %2 = " + op + " : f32[T,2]\n  return %2"
}

func opCases() []opCase {
	cases := elementCases()
	cases = append(cases, shapeCases()...)
	cases = append(cases, matmulCases()...)
	cases = append(cases, stateCases()...)
	return append(cases, expertCases()...)
}

func elementCases() []opCase {
	xy := func(x0, x1, y0, y1 float32) tensors {
		return tensors{"x": f([]float32{x0, x1}, 1, 2), "y": f([]float32{y0, y1}, 1, 2)}
	}
	x := func(x0, x1 float32) tensors { return tensors{"x": f([]float32{x0, x1}, 1, 2)} }
	out := func(y0, y1 float32) []*interp.Tensor { return []*interp.Tensor{f([]float32{y0, y1}, 1, 2)} }
	return []opCase{
		{"add", pair("add"), xy(1, 2, 10, 20), out(11, 22)},
		{"add rounds to f32", pair("add"), xy(1<<24, 1<<24, 1, 3), out(1<<24, 1<<24+4)},
		{"sub", pair("sub"), xy(1, 2, 10, 20), out(-9, -18)},
		{"mul", pair("mul"), xy(1, 2, 10, 20), out(10, 40)},
		{"div", pair("div"), xy(1, 2, 4, 0), out(0.25, inf)},
		{"mul by a vector", "%1:x = input : f32[T,2]\n  %2:y = weight offset=0 : f32[2]\n  %3 = mul %1 %2 : f32[T,2]\n  return %3",
			tensors{"x": f([]float32{1, 2, 3, 4}, 2, 2), "y": f([]float32{10, 100}, 2)}, []*interp.Tensor{f([]float32{10, 200, 30, 400}, 2, 2)}},
		{"div by a column", "%1:x = input : f32[T,2]\n  %2:y = input : f32[T,1]\n  %3 = div %1 %2 : f32[T,2]\n  return %3",
			tensors{"x": f([]float32{1, 2, 3, 4}, 2, 2), "y": f([]float32{10, 100}, 2, 1)}, []*interp.Tensor{f([]float32{.1, .2, .03, .04}, 2, 2)}},
		{"affine", single("affine %1 mul=2 add=-1"), x(1, -3), out(1, -7)},
		{"silu", single("silu %1"), x(0, 1), out(0, 0.7310586)},
		{"silu far out", single("silu %1"), x(-200, 200), out(0, 200)},
		{"sigmoid", single("sigmoid %1"), x(0, 2), out(0.5, 0.880797)},
		{"clamp", single("clamp %1 limit=1.5"), x(-7, 1), out(-1.5, 1)},
		{"clamp keeps NaN", single("clamp %1 limit=1.5"), x(nan, 9), out(nan, 1.5)},
		{"softmax", single("softmax %1"), x(0, ln3), out(0.25, 0.75)},
		{"softmax of large scores", single("softmax %1"), x(1e5, 1e5), out(0.5, 0.5)},
		{"sum in float64", "%1:x = input : f32[T,3]\n  %2 = sum %1 : f32[T,1]\n  return %2",
			tensors{"x": f([]float32{1e8, 1, -1e8}, 1, 3)}, []*interp.Tensor{f([]float32{1}, 1, 1)}},
		{"rmsnorm", "%1:x = input : f32[T,2]\n  %2:g = weight offset=0 : f32[2]\n  %3 = rmsnorm %1 %2 eps=12.5 : f32[T,2]\n  return %3",
			tensors{"x": f([]float32{3, 4}, 1, 2), "g": f([]float32{1, 2}, 2)}, out(0.6, 1.6)},
		{"no tokens", single("softmax %1"), tensors{"x": f(nil, 0, 2)}, []*interp.Tensor{f(nil, 0, 2)}},
	}
}

func shapeCases() []opCase {
	rope := func(attr string) string {
		return "%1:x = input : f32[T,1,4]\n  %2:pos = input : i32[T]\n  %3 = rope %1 %2 theta=4 " + attr + " : f32[T,1,4]\n  return %3"
	}
	alternating := make([]float32, 100)
	for j := range alternating {
		alternating[j] = float32(j % 2)
	}
	turned := tensors{"x": f([]float32{1, 2, 3, 4, 1, 2, 3, 4}, 2, 1, 4), "pos": i([]int32{0, 2}, 2)}
	return []opCase{
		{"topk", "%1:x = input : f32[T,4]\n  %2 = topk %1 k=3 : i32[T,3]\n  return %2",
			tensors{"x": f([]float32{1, 3, 3, 2, 5, 5, -inf, 5}, 2, 4)}, []*interp.Tensor{i([]int32{1, 2, 3, 0, 1, 3}, 2, 3)}},
		{"topk of ties", "%1:x = input : f32[T,100]\n  %2 = topk %1 k=4 : i32[T,4]\n  return %2",
			tensors{"x": f(alternating, 1, 100)}, []*interp.Tensor{i([]int32{1, 3, 5, 7}, 1, 4)}},
		{"gather", "%1:x = input : f32[T,3]\n  %2:i = input : i32[T,2]\n  %3 = gather %1 %2 : f32[T,2]\n  return %3",
			tensors{"x": f([]float32{1, 2, 3, 4, 5, 6}, 2, 3), "i": i([]int32{2, 0, 1, 1}, 2, 2)}, []*interp.Tensor{f([]float32{3, 1, 5, 5}, 2, 2)}},
		{"embed", "%1:w = weight offset=0 : f16[U,2]\n  %2:i = input : i32[T]\n  %3 = embed %1 %2 : f32[T,2]\n  return %3",
			tensors{"w": of(ir.F16, f([]float32{1, 2, 3, 4}, 2, 2)), "i": i([]int32{1, 0, 1}, 3)}, []*interp.Tensor{f([]float32{3, 4, 1, 2, 3, 4}, 3, 2)}},
		{"embed w8", "%1:w = weight offset=0 : w8[2,2]\n  %2:i = input : i32[T]\n  %3 = embed %1 %2 : f32[T,2]\n  return %3",
			tensors{"w": matrix(ir.W8, 2, 0.5, []int8{1, 2, -3, 4}, 1, 4), "i": i([]int32{1, 0}, 2)}, []*interp.Tensor{f([]float32{-6, 8, 0.5, 1}, 2, 2)}},
		{"reshape", "%1:x = input : f32[T,4]\n  %2 = reshape %1 dims=T,2,2 : f32[T,2,2]\n  return %2",
			tensors{"x": f([]float32{1, 2, 3, 4}, 1, 4)}, []*interp.Tensor{f([]float32{1, 2, 3, 4}, 1, 2, 2)}},
		{"slice", "%1:x = input : f32[T,4]\n  %2 = slice %1 from=1 to=3 : f32[T,2]\n  return %2",
			tensors{"x": f([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)}, []*interp.Tensor{f([]float32{2, 3, 6, 7}, 2, 2)}},
		{"concat", "%1:x = input : f32[T,1]\n  %2:y = input : f32[T,2]\n  %3 = concat %1 %2 %1 : f32[T,4]\n  return %3",
			tensors{"x": f([]float32{1, 2}, 2, 1), "y": f([]float32{3, 4, 5, 6}, 2, 2)}, []*interp.Tensor{f([]float32{1, 3, 4, 1, 2, 5, 6, 2}, 2, 4)}},
		{"rope of halves", rope("interleaved=false"), turned, []*interp.Tensor{f([]float32{1, 2, 3, 4, -3.1440391, -2.2852793, -0.3391431, 3.8441512}, 2, 1, 4)}},
		{"rope interleaved", rope("interleaved=true"), turned, []*interp.Tensor{f([]float32{1, 2, 3, 4, -2.2347417, 0.0770037, -1.744977, 4.6856222}, 2, 1, 4)}},
		{"rope stretched", rope("interleaved=true factor=4 low=0.5 high=1.5 scale=2"), turned, []*interp.Tensor{f([]float32{2, 4, 6, 8, -4.4694834, 0.1540075, 0.1850005, 9.9982886}, 2, 1, 4)}},
		{"rope slower from one pair on", rope("interleaved=true factor=4 low=1 high=1"), turned, []*interp.Tensor{f([]float32{1, 2, 3, 4, -2.2347417, 0.0770038, 1.9171214, 4.6178616}, 2, 1, 4)}},
		{"onehot", "%1:i = input : i32[T,2]\n  %2 = onehot %1 n=3 : f32[T,3]\n  return %2",
			tensors{"i": i([]int32{2, 0, 1, 1}, 2, 2)}, []*interp.Tensor{f([]float32{1, 0, 1, 0, 1, 0}, 2, 3)}},
		{"gather_rows", "%1:x = input : f32[T,2]\n  %2:r = input : i32[R]\n  %3 = gather_rows %1 %2 : f32[R,2]\n  return %3",
			tensors{"x": f([]float32{1, 2, 3, 4}, 2, 2), "r": i([]int32{1, 1, 0}, 3)}, []*interp.Tensor{f([]float32{3, 4, 3, 4, 1, 2}, 3, 2)}},
		{"gather_rows a8g128", "%1:x = input : a8g128[T,256]\n  %2:r = input : i32[R]\n  %3 = gather_rows %1 %2 : a8g128[R,256]\n  return %3",
			tensors{"x": activation(ir.A8G128, 256, runs(128, 1, 2, 3, 4), 1, 2, 3, 4), "r": i([]int32{1, 0}, 2)},
			[]*interp.Tensor{activation(ir.A8G128, 256, runs(128, 3, 4, 1, 2), 3, 4, 1, 2)}},
	}
}

func matmulCases() []opCase {
	mul := func(x, w, y string) string {
		return "%1:x = input : " + x + "\n  %2:w = weight offset=0 : " + w + "\n  %3 = matmul %1 %2 : " + y + "\n  return %3"
	}
	w4 := func() *interp.Tensor { return matrix(ir.W4G64, 256, 2, runs(64, 1, 2, 3, -4), 1, .5, 2, 1) }
	one := func(y float32) []*interp.Tensor { return []*interp.Tensor{f([]float32{y}, 1, 1)} }
	ones := make([]float32, 256)
	for j := range ones {
		ones[j] = float32(1 + j/128)
	}
	rounded := make([]float32, 256)
	copy(rounded, []float32{127, 0.5, 1.5, -2.5})
	rounded[128] = -1
	blocks := append(append([]int8{127, 0, 2, -2}, make([]int8, 124)...), append([]int8{-127}, make([]int8, 127)...)...)
	return []opCase{
		{"matmul", mul("f32[T,2]", "f32[3,2]", "f32[T,3]"),
			tensors{"x": f([]float32{1, 2, 3, 4}, 2, 2), "w": f([]float32{1, 0, 0, 1, 1, 1}, 3, 2)}, []*interp.Tensor{f([]float32{1, 2, 3, 3, 4, 7}, 2, 3)}},
		{"matmul sums in float64", mul("f32[T,3]", "bf16[1,3]", "f32[T,1]"),
			tensors{"x": f([]float32{1e8, 1, -1e8}, 1, 3), "w": of(ir.BF16, f([]float32{1, 2, 1}, 1, 3))}, one(2)},
		{"matmul of heads", mul("f32[T,2,1]", "f32[2,1]", "f32[T,2,2]"),
			tensors{"x": f([]float32{1, 2}, 1, 2, 1), "w": f([]float32{3, 4}, 2, 1)}, []*interp.Tensor{f([]float32{3, 4, 6, 8}, 1, 2, 2)}},
		{"matmul f32 w4g64", mul("f32[T,256]", "w4g64[1,256]", "f32[T,1]"), tensors{"x": f(ones, 1, 256), "w": w4()}, one(768)},
		{"matmul a8 w8", mul("a8[T,2]", "w8[2,2]", "f32[T,2]"),
			tensors{"x": activation(ir.A8, 2, []int8{1, -2}, .5), "w": matrix(ir.W8, 2, .25, []int8{3, 4, 5, 6}, 1, 2)}, []*interp.Tensor{f([]float32{-0.625, -1.75}, 1, 2)}},
		{"matmul a8 w4g64", mul("a8[T,256]", "w4g64[1,256]", "f32[T,1]"),
			tensors{"x": activation(ir.A8, 256, runs(128, 1, 2), .5), "w": w4()}, one(384)},
		{"matmul a8g128 w4g64", mul("a8g128[T,256]", "w4g64[1,256]", "f32[T,1]"),
			tensors{"x": activation(ir.A8G128, 256, runs(128, 1, 2), 1, .5), "w": w4()}, one(512)},
		{"matmul a8g128 w8", mul("a8g128[T,256]", "w8[1,256]", "f32[T,1]"),
			tensors{"x": activation(ir.A8G128, 256, runs(128, 1, 2), 1, .5), "w": matrix(ir.W8, 256, .5, runs(256, 1), 2)}, one(256)},
		{"matmul a8 w4full32", mul("a8[T,64]", "w4full32[1,64]", "f32[T,1]"),
			tensors{"x": activation(ir.A8, 64, runs(32, 1, 2), .5), "w": matrix(ir.W4Full32, 64, 1, runs(32, -8, 7), -1, .5)}, one(240)},
		{"quantize a8", "%1:x = input : f32[T,4]\n  %2 = quantize %1 to=a8 : a8[T,4]\n  return %2",
			tensors{"x": f([]float32{127, 0.5, 1.5, -2.5, 0, 0, 0, 0, 1, -1, 0, 0}, 3, 4)},
			[]*interp.Tensor{activation(ir.A8, 4, []int8{127, 0, 2, -2, 0, 0, 0, 0, 127, -127, 0, 0}, 1, 0, 1/float32(127))}},
		{"quantize a8g128", "%1:x = input : f32[T,256]\n  %2 = quantize %1 to=a8g128 : a8g128[T,256]\n  return %2",
			tensors{"x": f(rounded, 1, 256)}, []*interp.Tensor{activation(ir.A8G128, 256, blocks, 1, 1/float32(127))}},
		{"quantize multiplies by 1/s", "%1:x = input : f32[T,2]\n  %2 = quantize %1 to=a8 : a8[T,2]\n  return %2", // dividing by s would give 63
			tensors{"x": f([]float32{1.125, 0.5625}, 1, 2)}, []*interp.Tensor{activation(ir.A8, 2, []int8{127, 64}, 1.125/float32(127))}},
		{"quantize to nothing", "%1:x = input : f32[T,2]\n  %2 = quantize %1 to=a8 : a8[T,2]\n  return %2",
			tensors{"x": f([]float32{1e-40, -1e-44}, 1, 2)}, []*interp.Tensor{activation(ir.A8, 2, []int8{0, 0}, 0)}},
	}
}

func stateCases() []opCase {
	attend := func(window string) string {
		return "%1:q = input : f32[T,2,1]\n  %2:kv = input : grow(f32[S,1,1],f32[S,1,2])\n" + step(3) +
			"  %8 = attention %1 %2 %3 %4 %5 %6 %7 scale=1 window=" + window + " : f32[T,2,2]\n  return %8"
	}
	// One sequence holds rows 1 and 2; queries 1 and 0 weigh them 1:3 and 1:1.
	row := func() tensors {
		return tensors{"q": f([]float32{1, 0}, 1, 2, 1), "pos": i([]int32{1}, 1), "seq": i([]int32{0, 1}, 2), "past": i([]int32{1}, 1), "base": i([]int32{1}, 1), "parent": i([]int32{-1}, 1),
			"kv": state(ir.Grow, f([]float32{nan, 0, ln3, nan}, 4, 1, 1), f([]float32{nan, nan, 4, 0, 8, 4, nan, nan}, 4, 1, 2))}
	}
	window := func(ts ...float32) *interp.Tensor { return state(ir.Window, f(ts, len(ts)/2, 2, 1)) }
	return []opCase{
		{"append", "%1:s = input : grow(f32[S,1],bf16[S,1,1])\n" + step(2) + "  %7:x = input : f32[T,1]\n  %8:y = input : f32[T,1,1]\n" +
			"  %9 = append %1 %3 %4 %5 %7 %8 inplace=0 : grow(f32[S,1],bf16[S,1,1])\n  return %9",
			tensors{"s": state(ir.Grow, f([]float32{9, 9, 9, 9, 9}, 5, 1), of(ir.BF16, f([]float32{9, 9, 9, 9, 9}, 5, 1, 1))),
				"pos": i([]int32{1, 0, 1}, 3), "seq": i([]int32{0, 1, 3}, 3), "past": i([]int32{1, 0}, 2), "base": i([]int32{3, 0}, 2), "parent": i([]int32{-1, -1}, 2),
				"x": f([]float32{1, 2, 3}, 3, 1), "y": f([]float32{1 + 1./256, 1 + 3./256, nan}, 3, 1, 1)},
			[]*interp.Tensor{state(ir.Grow, f([]float32{2, 3, 9, 9, 1}, 5, 1), of(ir.BF16, f([]float32{1 + 4./256, nan, 9, 9, 1}, 5, 1, 1)))}},
		{"attention", attend("0"), row(), []*interp.Tensor{f([]float32{7, 3, 6, 2}, 1, 2, 2)}},
		{"attention in a window", attend("1"), row(), []*interp.Tensor{f([]float32{8, 4, 8, 4}, 1, 2, 2)}},
		{"attention with a parent", "%1:q = input : f32[T,1,1]\n  %2:kv = input : grow(f32[S,1,1],f32[S,1,1])\n" + step(3) +
			"  %8 = attention %1 %2 %3 %4 %5 %6 %7 scale=1 window=0 : f32[T,1,1]\n  return %8",
			tensors{"q": f([]float32{1}, 1, 1, 1), "pos": i([]int32{2}, 1), "seq": i([]int32{0, 0, 1}, 3), "past": i([]int32{3, 0}, 2), "base": i([]int32{0, 3}, 2), "parent": i([]int32{-1, 0}, 2),
				"kv": state(ir.Grow, f([]float32{0, 0, nan, 0}, 4, 1, 1), f([]float32{3, 6, nan, 9}, 4, 1, 1))},
			[]*interp.Tensor{f([]float32{6}, 1, 1, 1)}},
		{"attention_masked", "%1:q = input : f32[T,1,1]\n  %2:pk = input : f32[S,1,1]\n  %3:pv = input : f32[S,1,1]\n  %4:k = input : f32[T,1,1]\n  %5:v = input : f32[T,1,1]\n" +
			"  %6:mask = input : f32[T,M]\n  %7 = attention_masked %1 %2 %3 %4 %5 %6 scale=1 window=0 : f32[T,1,1]\n  return %7",
			tensors{"q": f([]float32{5, 5}, 2, 1, 1), "pk": f([]float32{nan, 0}, 2, 1, 1), "pv": f([]float32{nan, 4}, 2, 1, 1), "k": f([]float32{0, nan}, 2, 1, 1), "v": f([]float32{8, nan}, 2, 1, 1),
				"mask": f([]float32{-inf, 0, ln3, -inf, -inf, -inf, -inf, -inf}, 2, 4)},
			[]*interp.Tensor{f([]float32{7, 0}, 2, 1, 1)}},
		{"conv_past", "%1:x = input : f32[T,1]\n  %2:w = weight offset=0 : f32[1,3]\n  %3:p = input : f32[2,1]\n  %4 = conv_past %1 %2 %3 : f32[T,1]\n  return %4",
			tensors{"x": f([]float32{1, 2, 3}, 3, 1), "w": f([]float32{1, 10, 100}, 1, 3), "p": f([]float32{5, 6}, 2, 1)}, []*interp.Tensor{f([]float32{165, 216, 321}, 3, 1)}},
		{"conv, then shift", "%1:x = input : f32[T,1]\n  %2:w = weight offset=0 : f32[1,3]\n  %3:s = input : window(f32[B,2,1])\n  %4:seq = input : i32[B+1]\n" +
			"  %5 = conv %1 %2 %3 %4 : f32[T,1]\n  %6 = shift %3 %4 %1 inplace=0 : window(f32[B,2,1])\n  return %5 %6",
			tensors{"x": f([]float32{1, 2, 3, 4}, 4, 1), "w": f([]float32{1, 10, 100}, 1, 3), "s": window(5, 6, 7, 8, 0, 9), "seq": i([]int32{0, 3, 3, 4}, 4)},
			[]*interp.Tensor{f([]float32{165, 216, 321, 490}, 4, 1), window(2, 3, 7, 8, 9, 4)}},
	}
}

func expertCases() []opCase {
	routed := func(x *interp.Tensor) tensors {
		return tensors{"x": x, "i": i([]int32{0, 2, 2, 1}, 2, 2), "w": f([]float32{1, .5, 2, 3}, 2, 2)}
	}
	head := func(x, attr string) string {
		return "%1:x = input : " + x + "[T,1]\n  %2:i = input : i32[T,2]\n  %3:w = input : f32[T,2]\n  %4 = experts %1 %2 %3 callee=" + attr + " : f32[T,1]\n"
	}
	callee := func(x, weight string) string {
		return "\ngraph e\n  %1:x = input : " + x + "[T,1]\n  %2:rows = input : i32[R]\n  %3:w = input : f32[R]\n  %4:y = input : f32[T,1]\n  %5:expert." + weight + "[1,1]\n" +
			"  %6 = gather_rows %1 %2 : " + x + "[R,1]\n  %7 = matmul %6 %5 : f32[R,1]\n  %8 = scale_rows %7 %3 : f32[R,1]\n  %9 = scatter_add %4 %8 %2 inplace=0 : f32[T,1]\n  return %9"
	}
	return []opCase{
		{"experts with a body", head("f32", "") + "    graph expert\n      %1:x = input : f32[R,1]\n      %2:expert.w = weight offset=0 : f32[1,1]\n      %3 = matmul %1 %2 : f32[R,1]\n      return %3\n  return %4",
			routed(f([]float32{1, 10}, 2, 1)), []*interp.Tensor{f([]float32{2.5, 120}, 2, 1)}},
		{"experts with a callee", head("f32", "e") + "  return %4" + callee("f32", "w = weight offset=0 : f32"),
			routed(f([]float32{1, 10}, 2, 1)), []*interp.Tensor{f([]float32{2.5, 120}, 2, 1)}},
		{"experts on a8", head("a8", "e") + "  return %4" + callee("a8", "q = weight offset=0 : w8"),
			routed(activation(ir.A8, 1, []int8{1, 10}, 1, 1)), []*interp.Tensor{f([]float32{2.5, 120}, 2, 1)}},
		{"scale_rows", "%1:x = input : f32[R,2]\n  %2:w = input : f32[R]\n  %3 = scale_rows %1 %2 : f32[R,2]\n  return %3",
			tensors{"x": f([]float32{1, 2, 3, 4}, 2, 2), "w": f([]float32{10, 100}, 2)}, []*interp.Tensor{f([]float32{10, 20, 300, 400}, 2, 2)}},
		{"scatter_add", "%1:y = input : f32[T,2]\n  %2:x = input : f32[R,2]\n  %3:r = input : i32[R]\n  %4 = scatter_add %1 %2 %3 inplace=0 : f32[T,2]\n  return %4",
			tensors{"y": f([]float32{1, 2, 3, 4}, 2, 2), "x": f([]float32{10, 20, 100, 200}, 2, 2), "r": i([]int32{1, 1}, 2)}, []*interp.Tensor{f([]float32{1, 2, 113, 224}, 2, 2)}},
	}
}
