package interp_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
)

// step is the text of a step's inputs, values first to first+4.
func step(first int) string {
	var b strings.Builder
	for j, s := range []string{"pos = input : i32[T]", "seq = input : i32[B+1]", "past = input : i32[B]", "base = input : i32[B]", "parent = input : i32[B]"} {
		fmt.Fprintf(&b, "  %%%d:%s\n", first+j, s)
	}
	return b.String()
}

// parse reads the text of a graph m and what follows it, with more ops than the core's.
func parse(t testing.TB, text string, more ...*ir.Op) *ir.Module {
	t.Helper()
	ops, err := ir.Core(more...)
	require.NoError(t, err)
	m, err := ir.Parse("graph m\n  "+text, ops)
	require.NoError(t, err, text)
	require.NoError(t, m.Verify(), text)
	return m
}

func (c opCase) eval(t testing.TB) ([]*interp.Tensor, error) {
	t.Helper()
	m := parse(t, c.text)
	return interp.Eval(m, m.Graphs[0], c.in, interp.Options{Experts: weights1})
}

// caseNamed returns a new copy of a case.
func caseNamed(t testing.TB, name string) opCase {
	t.Helper()
	for _, c := range opCases() {
		if c.name == name {
			return c
		}
	}
	t.Fatalf("no case %q", name)
	return opCase{}
}

func TestOps(t *testing.T) {
	for _, c := range opCases() {
		t.Run(c.name, func(t *testing.T) {
			out, err := c.eval(t)
			require.NoError(t, err)
			require.Len(t, out, len(c.want))
			for n, want := range c.want {
				requireTensor(t, c.text, out[n], want)
			}
		})
	}
}

func requireTensor(t *testing.T, what string, got, want *interp.Tensor) {
	t.Helper()
	require.True(t, got.Type.Equal(want.Type), "%s: got %s, want %s", what, got.Type, want.Type)
	require.Equal(t, want.I, got.I, what)
	require.Equal(t, want.A, got.A, what)
	require.Equal(t, want.Scale, got.Scale, what)
	requireFloats(t, what, got.F, want.F)
	for n := range want.Parts {
		requireTensor(t, what, got.Parts[n], want.Parts[n])
	}
}

// requireFloats compares to the digits that the tables give; NaN equals NaN.
func requireFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for n, w := range want {
		d := math.Abs(float64(got[n] - w))
		if same := got[n] == w || w != w && got[n] != got[n]; !same && !(d <= 3e-7*max(1, math.Abs(float64(w)))) {
			t.Fatalf("%s:\nelement %d: got %v, want %v in %v", what, n, got[n], w, got)
		}
	}
}

func TestEveryCoreOpHasAFunctionAndACase(t *testing.T) {
	used, table := map[string]bool{}, interp.Core()
	for _, c := range opCases() {
		for _, op := range parse(t, c.text).Ops() {
			used[op] = true
		}
	}
	for _, op := range ir.CoreOps() {
		require.NotNil(t, table[op], "no function for %s", op)
		require.True(t, used[op.Name], "no case for %s", op)
	}
	require.Len(t, table, len(ir.CoreOps()))
}

func TestPluginOp(t *testing.T) {
	square := &ir.Op{Name: "square", Operands: "t", Infer: func(a []ir.Type, _ any) (ir.Type, error) { return a[0], nil }}
	m := parse(t, single("square %1"), square)
	in := tensors{"x": f([]float32{3, -4}, 1, 2)}
	_, err := interp.Eval(nil, m.Graphs[0], in, interp.Options{})
	require.EqualError(t, err, "graph m: %2 = square: the interpreter has no function for this op: a plug-in adds one to its table")

	table := interp.Core()
	table[square] = func(c *interp.Call) (*interp.Tensor, error) {
		out := interp.New(c.Type)
		for n, x := range c.Args[0].F {
			out.F[n] = x * x
		}
		return out, nil
	}
	out, err := interp.Eval(nil, m.Graphs[0], in, interp.Options{Ops: table})
	require.NoError(t, err)
	require.Equal(t, []float32{9, 16}, out[0].F)

	for want, bad := range map[string]*interp.Tensor{
		"result has type f32[2,2], want f32[1,2]": f(make([]float32, 4), 2, 2),
		"result: f32[1,2] has 3 values, want 2":   f(make([]float32, 3), 1, 2),
		"result: no tensor":                       nil,
	} {
		table[square] = func(*interp.Call) (*interp.Tensor, error) { return bad, nil }
		_, err = interp.Eval(nil, m.Graphs[0], in, interp.Options{Ops: table})
		require.EqualError(t, err, "graph m: %2 = square: "+want)
	}
}

func TestTapSeesEveryValue(t *testing.T) {
	c := caseNamed(t, "experts with a body")
	m := parse(t, c.text)
	var got []string
	_, err := interp.Eval(m, m.Graphs[0], c.in, interp.Options{Experts: weights1, Tap: func(g *ir.Graph, v *ir.Value, x *interp.Tensor) {
		got = append(got, fmt.Sprintf("%s %s %v", g.Name, v, x.F))
	}})
	require.NoError(t, err)
	require.Equal(t, []string{
		"m %1 [1 10]", "m %2 []", "m %3 [1 0.5 2 3]",
		"expert %1 [1]", "expert %2 [1]", "expert %3 [1]",
		"expert %1 [10]", "expert %2 [2]", "expert %3 [20]",
		"expert %1 [1 10]", "expert %2 [3]", "expert %3 [3 30]",
		"m %4 [2.5 120]",
	}, got)
}

func TestInPlace(t *testing.T) {
	for name, operand := range map[string]string{"append": "s", "scatter_add": "y"} {
		c := caseNamed(t, name)
		out, err := c.eval(t)
		require.NoError(t, err)
		require.Same(t, c.in[operand], out[0], name)
	}
}

func TestErrors(t *testing.T) {
	ints := func(name string, values ...int32) tensors { return tensors{name: i(values, len(values))} }
	for _, c := range []struct {
		of   string  // the case
		in   tensors // inputs that are exchanged; nil: left out
		want string
	}{
		{"add", tensors{"y": nil}, "graph m: %2:y = input: no tensor is given for it"},
		{"add", tensors{"y": f([]float32{1, 2, 3}, 1, 2)}, "graph m: %2:y = input: f32[1,2] has 3 values, want 2"},
		{"add", tensors{"y": f([]float32{1, 2, 3, 4}, 2, 2)}, "graph m: %2:y = input: type is f32[2,2], want f32[T,2] with T=1"},
		{"add", tensors{"y": of(ir.BF16, f([]float32{1, 2}, 1, 2))}, "graph m: %2:y = input: type is bf16[1,2], want f32[T,2] with T=1"},
		{"add", tensors{"x": {Type: ir.Tensor(ir.F32, ir.T, ir.N(2))}}, "graph m: %1:x = input: f32[T,2] has no size"},
		{"add", tensors{"x": {Type: ir.Tensor(ir.F32, ir.N(1<<40), ir.N(1<<40)), F: []float32{}}}, "graph m: %1:x = input: f32[1099511627776,1099511627776] has no size"},
		{"append", ints("seq"), "graph m: %3:seq = input: type is i32[0], want i32[B+1] with S=5 T=3"},
		{"append", ints("seq", 1, 2, 3), "graph m: %9 = append: seq is [1 2 3], want it to run from 0 to 3, the number of tokens"},
		{"append", ints("seq", 0, 4, 3), "graph m: %9 = append: seq[2] is 3 after 4, want it to ascend"},
		{"append", ints("base", 3, -1), "graph m: %9 = append: sequence 1: base -1, past 0 and 2 new rows do not fit the state's 5 rows"},
		{"append", ints("past", 2, 0), "graph m: %9 = append: sequence 0: base 3, past 2 and 1 new rows do not fit the state's 5 rows"},
		{"append", ints("base", 0, 0), "graph m: %9 = append: sequence 0 writes rows 1 to 1, of which sequence 1 holds some"},
		{"append", tensors{"s": state(ir.Grow, f(nil, 0, 1))}, "graph m: %1:s = input: type is grow(f32[0,1]), want grow(f32[S,1],bf16[S,1,1])"},
		{"attention", ints("parent", 0), "graph m: %8 = attention: sequence 0: parent 0 is not a sequence of the step without a parent"},
		{"attention with a parent", ints("pos", 4), "graph m: %8 = attention: sequence 1: it starts behind 4 rows of parent 0, which has 3"},
		{"attention_masked", tensors{"mask": f(make([]float32, 6), 2, 3)}, "graph m: %7 = attention_masked: the mask f32[2,3] has 3 columns for 4 keys"},
		{"conv, then shift", tensors{"seq": i([]int32{0, 4}, 2)}, "graph m: %4:seq = input: type is i32[2], want i32[B+1] with B=3 T=4"},
		{"embed", tensors{"i": i([]int32{0, 2}, 2)}, "graph m: %3 = embed: token 1: id 2 is outside the table's 2 rows"},
		{"embed w8", tensors{"w": f(make([]float32, 4), 2, 2)}, "graph m: %1:w = weight: type is f32[2,2], want w8[2,2]"},
		{"embed w8", tensors{"w": {Type: ir.Tensor(ir.W8, ir.N(2), ir.N(2))}}, "graph m: %1:w = weight: w8[2,2] is not held by a matrix"},
		{"embed w8", tensors{"w": matrix(ir.W8, 2, 0, []int8{1, 2, 3, 4}, 1, 1)}, "graph m: %1:w = weight: w8[2,2] has factor 0, want a power of two"},
		{"embed w8", tensors{"w": matrix(ir.W8, 2, 1, []int8{1, 2, 3, 4}, 1)}, "graph m: %1:w = weight: w8[2,2] has 1 scales, want 2"},
		{"gather", tensors{"i": i([]int32{0, 1, 2, 3}, 2, 2)}, "graph m: %3 = gather: token 1: id 3 is outside 0 to 2"},
		{"gather_rows", ints("r", 0, -1), "graph m: %3 = gather_rows: rows[1] is -1, want one of 2 rows"},
		{"scatter_add", ints("r", 0, 2), "graph m: %4 = scatter_add: rows[1] is 2, want one of 2 rows"},
		{"topk", tensors{"x": f([]float32{1, 2, 3, 4, 5, 6, nan, 8}, 2, 4)}, "graph m: %2 = topk: token 1: place 2 is NaN"},
		{"quantize a8", tensors{"x": f([]float32{1, 2, 3, 4, 5, -inf, 7, 8}, 2, 4)}, "graph m: %2 = quantize: token 1: element 1 is -Inf"},
		{"quantize a8g128", tensors{"x": f(append(make([]float32, 511), nan), 2, 256)}, "graph m: %2 = quantize: token 1: element 255 is NaN"},
		{"matmul a8 w8", tensors{"x": activation(ir.A8, 2, []int8{1, 2})}, "graph m: %1:x = input: a8[1,2] has 0 scales, want 1"},
		{"experts with a body", tensors{"i": i([]int32{0, -1, 2, 1}, 2, 2)}, "graph m: %4 = experts: token 0: id -1 is negative"},
	} {
		bad := caseNamed(t, c.of)
		for name, x := range c.in {
			if bad.in[name] = x; x == nil {
				delete(bad.in, name)
			}
		}
		_, err := bad.eval(t)
		require.EqualError(t, err, c.want)
	}
}

func TestExpertErrors(t *testing.T) {
	none := func(*ir.Value, int) (tensors, error) { return nil, nil }
	ten := func(_ *ir.Value, e int) (tensors, error) { return nil, fmt.Errorf("there are 10 experts") }
	for _, c := range []struct {
		of      string
		experts func(*ir.Value, int) (tensors, error)
		module  bool
		want    string
	}{
		{"experts with a body", nil, true, "graph m: %4 = experts: Options.Experts is nil, so there are no weights for it"},
		{"experts with a body", none, true, "graph m: %4 = experts: expert 0: graph expert: %2:expert.w = weight: no tensor is given for it"},
		{"experts with a body", ten, true, "graph m: %4 = experts: expert 0: there are 10 experts"},
		{"experts with a callee", weights1, false, `graph m: %4 = experts: expert 0: callee "e" is not in the module`},
		{"experts with a callee", none, true, "graph m: %4 = experts: expert 0: graph e: %5:expert.w = weight: no tensor is given for it"},
	} {
		m, in := parse(t, caseNamed(t, c.of).text), caseNamed(t, c.of).in
		g := m.Graphs[0]
		if !c.module {
			m = nil
		}
		_, err := interp.Eval(m, g, in, interp.Options{Experts: c.experts})
		require.EqualError(t, err, c.want)
	}
}
