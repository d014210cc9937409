package host

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host/kernel"
	"estream/passes"
)

// outputs are graphs whose outputs are not simply values computed once.
var outputs = map[string]string{
	"an input and a value, twice each": `
graph g
  %1:x = input : f32[T,6]
  %2 = silu %1 : f32[T,6]
  return %1 %2 %1 %2
`,
	"a reshape and what it reshapes": `
graph g
  %1:x = input : f32[T,6]
  %2 = silu %1 : f32[T,6]
  %3 = reshape %2 dims=T,2,3 : f32[T,2,3]
  %4 = softmax %3 : f32[T,2,3]
  return %4 %3 %2
`,
	"a reshape of an input, of 16 bits": `
graph g
  %1:x = input : bf16[T,6]
  %2 = reshape %1 dims=T,2,3 : f32[T,2,3]
  return %2
`,
	"a weight": `
graph g
  %1:x = input : f32[T,6]
  %2:b = weight offset=0 : f32[6]
  %3 = add %1 %2 : f32[T,6]
  return %2 %3
`,
	"a value written over, reshaped before": `
graph g
  %1:x = input : f32[T,6]
  %2:rows = input : i32[R]
  %3 = affine %1 mul=2 add=1 : f32[T,6]
  %4 = reshape %3 dims=T,2,3 : f32[T,2,3]
  %5 = gather_rows %1 %2 : f32[R,6]
  %6 = scatter_add %3 %5 %2 inplace=0 : f32[T,6]
  %7 = softmax %4 : f32[T,2,3]
  return %6 %7
`,
	"a reshape written over": `
graph g
  %1:x = input : f32[T,2,3]
  %2:rows = input : i32[R]
  %3 = affine %1 mul=2 add=1 : f32[T,2,3]
  %4 = reshape %3 dims=T,6 : f32[T,6]
  %5 = gather_rows %4 %2 : f32[R,6]
  %6 = scatter_add %4 %5 %2 inplace=0 : f32[T,6]
  %7 = reshape %6 dims=T,3,2 : f32[T,3,2]
  %8 = sum %3 : f32[T,2,1]
  return %8 %7
`,
	"a reshape that outlives what was written over": `
graph g
  %1:x = input : f32[T,6]
  %2:rows = input : i32[R]
  %3 = silu %1 : f32[T,6]
  %4 = gather_rows %1 %2 : f32[R,6]
  %5 = scatter_add %3 %4 %2 inplace=0 : f32[T,6]
  %6 = reshape %5 dims=T,2,3 : f32[T,2,3]
  %7 = silu %1 : f32[T,6]
  %8 = sum %7 : f32[T,1]
  %9 = softmax %6 : f32[T,2,3]
  return %8 %9
`,
	"products of computed matrices": `
graph g
  %1:x = input : f32[T,6]
  %2:k = input : bf16[S,6]
  %3 = affine %1 mul=2 add=1 : f32[T,6]
  %4 = matmul %3 %2 : f32[T,S]
  %5 = matmul %4 %4 : f32[T,T]
  return %5
`,
}

// TestOutputs runs each as it stands and, where it can be, with its memory planned.
func TestOutputs(t *testing.T) {
	for name, text := range outputs {
		t.Run(name, func(t *testing.T) {
			m := parse(t, text)
			runOutputs(t, m)
			plan, err := passes.Select(passes.Open(passes.Target{}), "plan-memory")
			require.NoError(t, err)
			if passes.Run(m, plan, nil) == nil {
				runOutputs(t, m)
			}
		})
	}
}

func runOutputs(t *testing.T, m *ir.Module) {
	c := compiles(t, m, nil, kernel.Packing)
	for _, n := range []int{5, 0} {
		rows := []int32{1, 4}[:min(n, 2)]
		given := map[string]*interp.Tensor{"rows": interp.Ints(rows, len(rows))}
		r := newRig(t, c, m.Graphs[0], lower.Dims{"T": n, "S": 8 * n}, given)
		r.mustRun()
		r.judge(1e-6)
	}
}

// TestInPlaceElsewhere gives a result written in place a buffer of its own: it
// gets a copy.
func TestInPlaceElsewhere(t *testing.T) {
	m := parse(t, `
graph g
  %1:y = input : f32[T,6]
  %2:x = input : f32[R,6]
  %3:rows = input : i32[R]
  %4 = scatter_add %1 %2 %3 inplace=0 : f32[T,6]
  return %4
`)
	r := newRig(t, compiles(t, m, nil, kernel.Packing), m.Graphs[0], lower.Dims{"T": 5, "R": 2}, map[string]*interp.Tensor{"rows": interp.Ints([]int32{1, 4}, 2)})
	r.call.Out = []lower.Buffer{r.buffer(r.call.Out[0].Type, -1)}
	r.mustRun()
	r.judge(1e-6)
}

// TestErrors names graph, value and row.
func TestErrors(t *testing.T) {
	inf := float32(math.Inf(1))
	floats := func(v ...float32) *interp.Tensor { return interp.Floats(v, len(v)/2, 2) }
	for _, c := range []struct {
		text, want string
		in         map[string]*interp.Tensor
		row        int
	}{
		{
			"graph c0.route\n  %1:x = input : f32[T,2]\n  %2:experts.ids = topk %1 k=1 : i32[T,1]\n  return %2\n",
			"graph c0.route: %2:experts.ids = topk: row 2: value 1 is NaN",
			map[string]*interp.Tensor{"x": floats(1, 2, 3, 4, 5, float32(math.NaN()))}, 2,
		},
		{
			"graph c0.body\n  %1:x = input : f32[T,2]\n  %2 = quantize %1 to=a8 : a8[T,2]\n  return %2\n",
			"graph c0.body: %2 = quantize: row 1: it holds an infinity or NaN",
			map[string]*interp.Tensor{"x": floats(1, 2, 3, inf, inf, 0)}, 1,
		},
		{
			"graph embed\n  %1:ids = input : i32[T]\n  %2:embed.weight = weight offset=0 : f32[U,4]\n  %3:embed = embed %2 %1 : f32[T,4]\n  return %3\n",
			"graph embed: %3:embed = embed: row 1: id 7 is not one of the table's 7",
			map[string]*interp.Tensor{"ids": interp.Ints([]int32{6, 7, -1}, 3)}, 1,
		},
		{
			"graph g\n  %1:x = input : f32[T,2]\n  %2:ids = input : i32[T,1]\n  %3 = gather %1 %2 : f32[T,1]\n  return %3\n",
			"graph g: %3 = gather: row 1: id 2 is not below 2",
			map[string]*interp.Tensor{"ids": interp.Ints([]int32{1, 2, -1}, 3, 1)}, 1,
		},
		{
			"graph g\n  %1:x = input : f32[T,2]\n  %2 = reshape %1 dims=T,2,1 : f32[T,2,1]\n  %3 = quantize %2 to=a8 : a8[T,2,1]\n  return %3\n",
			"graph g: %3 = quantize: row 1: it holds an infinity or NaN",
			map[string]*interp.Tensor{"x": floats(1, 2, 3, inf, inf, 0)}, 1,
		},
	} {
		m := parse(t, c.text)
		r := newRig(t, compiles(t, m, nil, kernel.Packing), m.Graphs[0], lower.Dims{"T": 3, "U": 7}, c.in)
		err := r.run(context.Background())
		require.EqualError(t, err, c.want)
		var row *lower.RowError
		require.ErrorAs(t, err, &row)
		require.Equal(t, c.row, row.Row)
	}
}

// TestNotFiniteExpert names the expert and the row of x, not its place among the expert's.
func TestNotFiniteExpert(t *testing.T) {
	for fuse, want := range map[bool]string{
		true:  "graph expert0: expert 2 of 3: row 290: silu(gate)*up cannot be quantized: it holds an infinity or NaN",
		false: "graph expert0: expert 2 of 3: %14 = quantize: row 290: it holds an infinity or NaN",
	} {
		m := parse(t, gatedText("a8", "w4g32", "%11 %10"))
		c := compiles(t, m, way{threads: 2, rowCap: 100, fuse: fuse}.backend(), kernel.Packing)
		r := newGroupRig(t, c, m.Graphs[0], twoExperts())
		x := r.call.In[0]
		row := x.Rows(290, 291).Bytes()
		lower.F32(row[lower.ScaleOffset(x.Type.Last().N):])[0] = math.MaxFloat32
		err := r.run(context.Background())
		require.EqualError(t, err, want)
		var expert *lower.ExpertError
		require.ErrorAs(t, err, &expert)
		require.Equal(t, 2, expert.Index)
		var blamed *lower.RowError
		require.ErrorAs(t, expert, &blamed)
		require.Equal(t, 290, blamed.Row)
	}
}

// TestCompileRefuses what would give wrong numbers, or cannot be run.
func TestCompileRefuses(t *testing.T) {
	foreign := &ir.Op{Name: "foreign", Operands: "t", Infer: func(a []ir.Type, _ any) (ir.Type, error) { return a[0], nil }}
	for _, c := range []struct{ text, want string }{
		{
			"graph g\n  %1:x = input : f32[T,4]\n  %2 = silu %1 : f32[T,4] slot 1\n  %3 = silu %2 : f32[T,4] slot 1\n  %4 = silu %3 : f32[T,4]\n  return %4\n",
			"host: graph g: %3 = silu: slot 1 is an operand's",
		},
		{
			"graph g\n  %1:x = input : f32[T,4]\n  %2 = silu %1 : f32[T,4] slot 1\n  %3 = silu %1 : f32[T,4] slot 1\n  %4 = add %2 %3 : f32[T,4]\n  return %4\n",
			"host: graph g: %4 = add: operand %2 lies in slot 1, where %3 was put",
		},
		{
			"graph g\n  %1:x = input : f32[T,4]\n  %2:w = weight offset=0 : f32[T,4]\n  %3 = matmul %1 %2 : f32[T,T]\n  %4 = add %1 %2 : f32[T,4]\n  return %3 %4\n",
			"host: graph g: %2:w = weight: weight f32[T,4] is read by matmul and otherwise, and so cannot be packed: unsupported",
		},
		{
			"graph g\n  %1:w = weight offset=0 : f32[T,4]\n  %2:x = input : f32[R,4]\n  %3:rows = input : i32[R]\n  %4:y = scatter_add %1 %2 %3 inplace=0 : f32[T,4]\n  return %4\n",
			"host: graph g: %4:y = scatter_add: writes over the weight %1:w = weight: unsupported",
		},
		{
			"graph g\n  %1:x = input : f32[T,4]\n  %2 = foreign %1 : f32[T,4]\n  return %2\n",
			"host: graph g: %2 = foreign: host: foreign : f32[T,4] of f32[T,4]: there is no function for this operator: Options.Ops adds one: unsupported",
		},
		{
			"graph g\n  %1:q = input : f32[T,2,4]\n  %2:s = input : grow(f16[S,2,4],f16[S,2,4])\n  %3:pos = input : i32[T]\n  %4:seq = input : i32[B+1]\n  %5:past = input : i32[B]\n  %6 = attention %1 %2 %3 %4 %5 %5 %5 scale=1 window=0 : f32[T,2,4]\n  return %6\n",
			"host: graph g: %6 = attention: host: attention : f32[T,2,4] of f32[T,2,4], grow(f16[S,2,4],f16[S,2,4]), i32[T], i32[B+1], i32[B], i32[B], i32[B]: keys and values are both f32 or both bf16: unsupported",
		},
	} {
		_, err := New(Options{}).Compile(context.Background(), parse(t, c.text, foreign), kernel.Packing)
		require.EqualError(t, err, c.want)
	}
}

// TestGraphsOfOthers have no programs.
func TestGraphsOfOthers(t *testing.T) {
	m := parse(t, gatedText("a8", "w4g32", "%11 %10")+`
graph c0.experts
  %1:h = input : a8[T,128]
  %2:experts.ids = input : i32[T,2]
  %3:experts.weights = input : f32[T,2]
  %4:experts = experts %1 %2 %3 callee=expert0 : f32[T,128]
  return %4

graph c0.npu on npu
  %1:x = input : f32[8,4]
  return %1

graph c0.tail on host
  %1:x = input : f32[8,4]
  return %1
`)
	c := compiles(t, m, nil, kernel.Packing)
	_, err := c.Program("c0.experts")
	require.EqualError(t, err, "host: graph c0.experts has no program: its experts run as group calls of expert0")
	_, err = c.Program("c0.npu")
	require.EqualError(t, err, "host: graph c0.npu was not compiled for this backend")
	_, err = c.Program("c0.tail")
	require.NoError(t, err)
	b, err := c.Artifact()
	require.NoError(t, err)
	_, err = New(Options{}).Load(context.Background(), nil, lower.Packing{}, b)
	require.ErrorIs(t, err, lower.ErrUnsupported)
}
