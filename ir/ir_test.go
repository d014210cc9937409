package ir_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// sample builds a graph of every core op.
func sample(t testing.TB) *ir.Module {
	t.Helper()
	f := func(dims ...int) ir.Type {
		ty := ir.Tensor(ir.F32)
		for _, d := range dims {
			ty.Dims = append(ty.Dims, ir.N(d))
		}
		return ty
	}
	params := map[string]ir.Type{
		"table.weight": f(32, 8), "q.weight": f(8, 8), "norm.weight": f(8), "taps.weight": f(8, 3), "router.weight": f(4, 8),
		"expert.gate.weight": f(16, 8), "expert.up.weight": f(16, 8), "expert.down.weight": f(8, 16),
	}
	b := ir.NewBuilder("layer0", params)
	ids := b.Input("ids", ir.Tensor(ir.I32, ir.T))
	s := b.Step()
	kv := b.Input("kv", ir.StateOf(ir.Grow, ir.Tensor(ir.F32, ir.S, ir.N(2), ir.N(4)), ir.Tensor(ir.BF16, ir.S, ir.N(2), ir.N(4))))
	win := b.Input("win", ir.StateOf(ir.Window, ir.Tensor(ir.F32, ir.B, ir.N(2), ir.N(8))))
	x := b.RMSNorm(b.Embed(b.Weight("table.weight"), ids), "norm", 1e-5)
	q := b.RoPE(b.Reshape(b.Linear(x, "q"), ir.T, ir.N(2), ir.N(4)), s, ir.RoPEAttr{Theta: 1e4, Factor: 40, Low: 1.5, High: 6, Scale: 0.5})
	kv2 := b.Append(kv, s, q, q)
	x = b.Sub(x, b.Reshape(b.Attention(q, kv2, s, 0.5, 0), ir.T, ir.N(8)))
	y, win2 := b.Conv(b.Clamp(x, 8), "taps", win, s)
	p := b.Softmax(b.Linear(y, "router"))
	top := b.TopK(p, 2)
	w := b.Mul(b.Gather(p, top), b.Slice(b.OneHot(top, 4), 0, 2))
	w = b.Div(w, b.Affine(b.Sum(w), 1, 1e-6))
	y = b.Add(y, b.Experts(y, top, w, func(e *ir.Builder, x *ir.Value) *ir.Value {
		return e.Linear(e.Mul(e.SiLU(e.Linear(x, "gate")), e.Linear(x, "up")), "down")
	}))
	y = b.Mul(b.Sigmoid(b.Concat(b.Slice(y, 0, 4), b.Slice(y, 4, 8))), y)
	g, err := b.Finish(y, kv2, win2)
	require.NoError(t, err)
	e, err := ir.Parse(expertText, core(t))
	require.NoError(t, err)
	return &ir.Module{Layers: []string{"layer0", "layer0"}, Graphs: append([]*ir.Graph{g}, e.Graphs...)}
}

const expertText = `
graph expert0
  %1:x = input : a8[T,32]
  %2:rows = input : i32[R]
  %3:w = input : f32[R]
  %4:y = input : f32[T,32]
  %5:expert.gate.weight = weight offset=4096 : w4g32[64,32]
  %6 = gather_rows %1 %2 : a8[R,32] slot 2 from extract-expert/%9
  %7 = matmul %6 %5 : f32[R,64]
  %8 = quantize %7 to=a8 : a8[R,64] slot 1
  %9:expert.down.weight = weight offset=0 : w8[32,64]
  %10 = matmul %8 %9 : f32[R,32]
  %11 = scale_rows %10 %3 : f32[R,32]
  %12 = scatter_add %4 %11 %2 inplace=0 : f32[T,32]
  return %12

graph static on npu
  %1:q = input : f32[8,4,16]
  %2:k = input : f32[32,2,16]
  %3:v = input : f32[32,2,16]
  %4:k.new = input : f32[8,2,16]
  %5:v.new = input : f32[8,2,16]
  %6:mask = input : f32[8,40]
  %7 = attention_masked %1 %2 %3 %4 %5 %6 scale=0.25 window=0 : f32[8,4,16]
  %8:u = input : f32[8,16]
  %9:past = input : f32[2,16]
  %10:taps = weight offset=0 : bf16[16,3]
  %11 = conv_past %8 %10 %9 : f32[8,16]
  return %7 %11
`

func core(t testing.TB) ir.Ops {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	return ops
}

// TestNames: passes make names of names, so none is too long for one more.
func TestNames(t *testing.T) {
	m := sample(t)
	m.Graphs[0].Name = strings.Repeat("x", 1<<10)
	m.Layers = []string{m.Graphs[0].Name}
	require.NoError(t, m.Verify())
}

func TestRoundTrip(t *testing.T) {
	m := sample(t)
	require.NoError(t, m.Verify())
	again, err := ir.Parse(m.String(), core(t))
	require.NoError(t, err)
	require.NoError(t, again.Verify())
	require.Equal(t, m.String(), again.String())
	require.Equal(t, m.String(), m.Clone().String())
	used := m.Ops()
	for _, op := range ir.CoreOps() {
		require.Contains(t, used, op.Name, "the sample leaves an op out")
	}
}

// TestCoreOps finds variables of this package that are ops and not in CoreOps.
func TestCoreOps(t *testing.T) {
	var want, got []string
	for _, op := range ir.CoreOps() {
		got = append(got, op.Name)
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			ast.Inspect(g, func(n ast.Node) bool {
				if lit, ok := n.(*ast.CompositeLit); ok {
					if id, ok := lit.Type.(*ast.Ident); ok && id.Name == "Op" {
						name, err := strconv.Unquote(lit.Elts[0].(*ast.KeyValueExpr).Value.(*ast.BasicLit).Value)
						require.NoError(t, err)
						want = append(want, name)
					}
				}
				return true
			})
		}
	}
	require.ElementsMatch(t, want, got)
}

func FuzzParse(f *testing.F) {
	ops := core(f)
	f.Add(sample(f).String())
	f.Add(beyond64)
	for _, op := range ir.CoreOps() {
		f.Add("graph m\n  %1 = input : f32[T,4]\n  %2 = " + op.Name + " %1 %1 k=1 : f32[T,4]\n  return %2\n")
		f.Add("layers m\ngraph m\n  %1 = input : grow(f32[S,4])\n  %2:a.b = " + op.Name + " %1 inplace=0 : window(f32[B,2,4]) slot 3 from x/%1\n  return %2\n")
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ir.Parse(s, ops)
		if err != nil || m.Verify() != nil {
			return
		}
		again, err := ir.Parse(m.String(), ops)
		if err != nil {
			t.Fatalf("reparse: %v\n%s", err, m)
		}
		if again.String() != m.String() {
			t.Fatalf("got:\n%s\nwant:\n%s", again, m)
		}
	})
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"graph m\n  %1 = nosuch : f32[4]\n  return", `ir text, line 2: unknown operator "nosuch": a plug-in may declare it`},
		{"graph m\n  %1 = silu %7 : f32[4]\n  return", "ir text, line 2: undefined value %7"},
		{"graph m\n  %1 = input : f31[4]\n  return", `ir text, line 2: unknown type "f31"`},
		{"graph m\n  %1 = input : f32[-4]\n  return", `ir text, line 2: bad dim "-4"`},
		{"graph m\n  %1 = input : f32[T+x]\n  return", `ir text, line 2: bad dim "T+x"`},
		{"graph m\n  %1 = input : grow(f32[S,4]\n  return", `ir text, line 2: bad type "grow(f32[S,4]": want grow(TYPES)`},
		{"graph m\n  %1 = input : f32[4]\n  %2 = clamp %1 : f32[4]\n  return", "ir text, line 3: clamp takes 1 attribute fields, got 0"},
		{"graph m\n  %1 = input : f32[T,1,4]\n  %2 = input : i32[T]\n  %3 = rope %1 %2 theta=4 interleaved=true low=1 factor=2 : f32[T,1,4]\n  return", `ir text, line 4: rope: attribute field "low", want "factor"`},
		{"graph m\n  %1 = input : f32[T,1,4]\n  %2 = input : i32[T]\n  %3 = rope %1 %2 theta=4 interleaved=true turn=1 : f32[T,1,4]\n  return", "ir text, line 4: rope takes 2 attribute fields, got 3"},
		{"graph m\n  %1 = input : f32[4]\n  %2 = clamp %1 limit=NaN : f32[4]\n  return", `ir text, line 3: clamp: limit: bad value "NaN"`},
		{"graph m\n  %1 = input : f32[4]\n", "ir text: graph m does not return"},
		{"  %1 = input : f32[4]\n", `ir text, line 1: "%1" stands outside its graph`},
		{"graph m\n  return\nlayers m", "ir text, line 3: layers must come first, once"},
	} {
		_, err := ir.Parse(c.text, core(t))
		require.EqualError(t, err, c.want, c.text)
	}
}

// beyond64 reshapes to a number of elements that is the operand's in 64 bits.
const beyond64 = "graph m\n  %1 = input : f32[64]\n  %2 = reshape %1 dims=320,107367629,536903681 : f32[320,107367629,536903681]\n  return %2"

// TestVerify breaks each invariant once.
func TestVerify(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"I2 id", "graph m\n  %1 = input : f32[4]\n  %1 = input : f32[4]\n  return", "graph m: %1 = input: I2: id 1 is not positive or taken"},
		{"I2 name", "graph m\n  %1:a = input : f32[4]\n  %2:a = input : f32[4]\n  return", `graph m: %2 = input: I2: name "a" is malformed or taken`},
		{"I3 arity", "graph m\n  %1 = input : f32[4]\n  %2 = add %1 : f32[4]\n  return", "graph m: %2 = add: I3: 1 operands, want 2"},
		{"I3 kind", "graph m\n  %1 = input : i32[4]\n  %2 = silu %1 : f32[4]\n  return", "graph m: %2 = silu: I3: operand 0 has type i32[4], want a tensor"},
		{"I4", "graph m\n  %1 = input : f32[4]\n  %2 = silu %1 : f32[5]\n  return", "graph m: %2 = silu: I4: type is f32[5], want f32[4]"},
		{"I4 quantized", "graph m\n  %1 = input : a8[T,32]\n  %2 = weight offset=0 : f32[8,32]\n  %3 = matmul %1 %2 : f32[T,8]\n  return", "graph m: %3 = matmul: I4: cannot multiply a8 by f32"},
		{"I4 a product beyond 64 bits", beyond64, "graph m: %2 = reshape: I4: f32[64] and f32[320,107367629,536903681] hold different numbers of elements"},
		{"I5", "graph m\n  %1 = input : f32[T,4]\n  %2 = input : i32[T,2]\n  %3 = input : f32[T,2]\n  %4 = experts %1 %2 %3 callee=e : f32[T,4]\n  return", `graph m: %4: I5: callee "e" is not in the module`},
		{"I4 positions", "graph m\n  %1 = input : f32[T,4,8]\n  %2 = input : grow(f32[S,2,8],f32[S,2,8])\n  %3 = input : i32[R]\n  %4 = input : i32[B+1]\n  %5 = input : i32[B]\n  %6 = attention %1 %2 %3 %4 %5 %5 %5 scale=1 window=0 : f32[T,4,8]\n  return", "graph m: %6 = attention: I4: want q [T,H,D] and pos [T], got f32[T,4,8] and i32[R]"},
		{"I6 later use", "graph m\n  %1 = input : f32[T,4]\n  %2 = input : i32[R]\n  %3 = input : f32[R,4]\n  %4 = scatter_add %1 %3 %2 inplace=0 : f32[T,4]\n  %5 = silu %1 : f32[T,4]\n  return", "graph m: %5 = silu: I6: operand %1 was written over by %4"},
		{"I6 output", "graph m\n  %1 = input : f32[T,4]\n  %2 = input : i32[R]\n  %3 = input : f32[R,4]\n  %4 = scatter_add %1 %3 %2 inplace=0 : f32[T,4]\n  return %1", "graph m: I6: output %1 was written over by %4"},
		{"I8", "graph m\n  %1 = input : f32[T,4]\n  %2 = reshape %1 dims=R,4 : f32[R,4]\n  return", "graph m: %2 = reshape: I8: no input or weight binds R"},
		{"I9", "graph m\n  %1 = weight offset=0 : w4g64[4,96]\n  return", "graph m: %1 = weight: I9: type w4g64[4,96]: the last extent must be a number of whole groups"},
		{"I5 nested", nested("e", "f"), "graph e: I5: experts call it, and it has experts"},
		{"I5 itself", nested("m", "f"), "graph m: I5: experts call it, and it has experts"},
		{"I10 graph", "graph m\n  return\ngraph m\n  return", `I10: graph name "m" is malformed or taken`},
		{"I10 layer", "layers c0\ngraph m\n  return", `I10: layer graph "c0" is not in the module`},
	} {
		m, err := ir.Parse(c.text, core(t))
		require.NoError(t, err, c.name)
		require.EqualError(t, m.Verify(), c.want, c.name)
	}
	a := &ir.Value{ID: 1, Op: ir.Input, Type: ir.Tensor(ir.F32, ir.N(4))}
	b := &ir.Value{ID: 2, Op: ir.SiLU, Type: a.Type, Args: []*ir.Value{a}}
	require.EqualError(t, (&ir.Graph{Name: "m", Values: []*ir.Value{b, a}}).Verify(), "graph m: %2 = silu: I1: operand %1 is not defined earlier")
	require.EqualError(t, (&ir.Graph{Name: "m", Outputs: []*ir.Value{a}}).Verify(), "graph m: I7: output %1 is not defined")
	for _, limit := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		c := &ir.Value{ID: 2, Op: ir.Clamp, Type: a.Type, Args: []*ir.Value{a}, Attr: ir.LimitAttr{Limit: limit}}
		require.EqualError(t, (&ir.Graph{Name: "m", Values: []*ir.Value{a, c}}).Verify(), fmt.Sprintf("graph m: %%2 = clamp: I3: attribute field limit=%v cannot be read again", limit))
	}
	for _, s := range []string{"a b", "a\n", ":", " "} {
		require.EqualError(t, (&ir.Graph{Name: "m", On: s}).Verify(), fmt.Sprintf("graph m: I10: backend %q is not one word", s))
		v := &ir.Value{ID: 1, Op: ir.Input, Type: a.Type, Origin: s}
		require.EqualError(t, (&ir.Graph{Name: "m", Values: []*ir.Value{v}}).Verify(), fmt.Sprintf("graph m: %%1 = input: I2: origin %q is not one word", s))
	}
}

// nested returns a graph m whose experts call a graph, and graphs e, which call f, and f.
func nested(m, e string) string {
	const text = "graph %s\n  %%1 = input : f32[T,4]\n  %%2 = input : i32[T,2]\n  %%3 = input : f32[T,2]\n  %%4 = experts %%1 %%2 %%3 callee=%s : f32[T,4]\n  return\n"
	return fmt.Sprintf(text, "m", m) + fmt.Sprintf(text, "e", e) + "graph f\n  return\n"
}

func TestBuilderKeepsFirstError(t *testing.T) {
	b := ir.NewBuilder("m", map[string]ir.Type{"a.weight": ir.Tensor(ir.F32, ir.N(4), ir.N(8))})
	x := b.Input("x", ir.Tensor(ir.F32, ir.T, ir.N(4)))
	y := b.SiLU(b.Linear(x, "a")) // the first error: 4 against 8
	_, err := b.Finish(b.Add(y, b.Linear(y, "missing")))
	require.ErrorContains(t, err, "ir_test.go:")
	require.ErrorContains(t, err, "graph m: matmul: inner extents differ: f32[T,4] and f32[4,8]")
	require.NotContains(t, err.Error(), "missing")
}

func TestOpsOfOneName(t *testing.T) {
	mine := &ir.Op{Name: "gelu", Operands: "t"}
	ops, err := ir.Core(mine, mine)
	require.NoError(t, err)
	require.Same(t, mine, ops["gelu"])
	_, err = ir.Core(mine, &ir.Op{Name: "gelu", Operands: "t"})
	require.EqualError(t, err, `ir: two operators are named "gelu"`)
	_, err = ir.NewOps(&ir.Op{Name: "Bad name"})
	require.ErrorContains(t, err, "bad operator name")
	_, err = ir.NewOps(&ir.Op{Name: "x", Attr: struct{ M map[string]int }{}})
	require.ErrorContains(t, err, "attribute field M has type map[string]int")
	type hidden struct{ N int }
	for want, op := range map[string]*ir.Op{
		`bad operands "+"`:                          {Operands: "+"},
		`bad operands "t+i"`:                        {Operands: "t+i"},
		"attribute int is not a struct":             {Attr: 1},
		"attribute *ir.InplaceAttr is not a struct": {Attr: struct{ *ir.InplaceAttr }{}},
		"attribute ir.DType is not a struct":        {Attr: struct{ ir.DType }{}},
		"attribute field hidden is not exported":    {Attr: struct{ hidden }{}},
		"attribute field n is not exported":         {Attr: struct{ n int }{}},
	} {
		op.Name = "x"
		_, err = ir.NewOps(op)
		require.EqualError(t, err, "ir: operator x: "+want)
	}
}

func TestTypesAndDims(t *testing.T) {
	for _, s := range []string{"f32[T,64]", "i32[B+1]", "w4full32[8,32]", "grow(f32[S,2,4],bf16[S,2,4])", "window(f32[B,2,8])", "f32[]"} {
		ty, err := ir.ParseType(s)
		require.NoError(t, err)
		require.Equal(t, s, ty.String())
	}
	for _, s := range []string{"", "f32", "f32[T,]", "f32[01]", "state[4]", "grow()x", "grow(f32[S,4],)", "f32[B+0]", strings.Repeat("grow(", 1000)} {
		_, err := ir.ParseType(s)
		require.Error(t, err, s)
	}
}

func TestOverwrites(t *testing.T) {
	type embedded struct{ ir.InplaceAttr }
	x, y := &ir.Value{ID: 1}, &ir.Value{ID: 2}
	for _, c := range []struct {
		attr any
		want *ir.Value
	}{
		{ir.InplaceAttr{Inplace: 1}, y},
		{embedded{ir.InplaceAttr{Inplace: 0}}, x},
		{nil, nil},
		{ir.TopKAttr{K: 1}, nil},
		{ir.InplaceAttr{Inplace: -1}, nil},
		{ir.InplaceAttr{Inplace: 2}, nil},
		{(*ir.InplaceAttr)(nil), nil},
		{struct{ In ir.InplaceAttr }{}, nil},
	} {
		v := &ir.Value{ID: 3, Args: []*ir.Value{x, y}, Attr: c.attr}
		require.Same(t, c.want, v.Overwrites(), "%T %+v", c.attr, c.attr)
	}
}
