package host

import (
	"bytes"
	"context"
	"fmt"
	"math"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host/kernel"
)

// gatedText is a gated expert: x of type a, weights of type w, the product with
// the operands of mul as given.
func gatedText(a, w, mul string) string {
	quantize, hidden := "", "%13"
	if strings.HasPrefix(a, "a8") {
		quantize, hidden = "\n  %14 = quantize %13 to="+a+" : "+a+"[R,128]", "%14"
	}
	return fmt.Sprintf(`
graph expert0
  %%1:x = input : %[1]s[T,128]
  %%2:rows = input : i32[R]
  %%3:w = input : f32[R]
  %%4:y = input : f32[T,128]
  %%5:expert.gate.weight = weight offset=0 : %[2]s[128,128]
  %%6:expert.up.weight = weight offset=131328 : %[2]s[128,128]
  %%7:expert.down.weight = weight offset=65664 : %[2]s[128,128]
  %%8 = gather_rows %%1 %%2 : %[1]s[R,128]
  %%9 = matmul %%8 %%5 : f32[R,128]
  %%10 = matmul %%8 %%6 : f32[R,128]
  %%11 = silu %%9 : f32[R,128]
  %%13 = mul %[3]s : f32[R,128]%[4]s
  %%15 = matmul %[5]s %%7 : f32[R,128]
  %%16 = scale_rows %%15 %%3 : f32[R,128]
  %%17 = scatter_add %%4 %%16 %%2 inplace=0 : f32[T,128]
  return %%17
`, a, w, mul, quantize, hidden)
}

const recordBytes = 3 * 65664

// A call of a group: tokens, and the rows of each expert.
type groupCall struct {
	tokens int
	rows   [][]int32
}

// twoExperts is a short list and one longer than rowBlock, an expert without rows between.
func twoExperts() groupCall {
	long := make([]int32, 300)
	for i := range long {
		long[i] = int32(i + 3)
	}
	return groupCall{310, [][]int32{{0, 5, 7, 309}, nil, long}}
}

// newGroupRig puts a group call of random experts on c.
func newGroupRig(t testing.TB, c *compiled, g *ir.Graph, call groupCall) *rig {
	t.Helper()
	r := &rig{t: t, c: c, graph: g, in: map[string]*interp.Tensor{}}
	dims := lower.Dims{"T": call.tokens}
	for _, name := range []string{"x", "rows", "w", "y"} {
		b := lower.Buffer{}
		if v := g.Value(name); name == "x" || name == "y" {
			r.in[name] = random(t, dims, v)
			b = r.buffer(r.in[name].Type, -1)
			store(b, r.in[name])
		}
		r.call.In = append(r.call.In, b)
	}
	r.call.Out = r.call.In[3:]
	for i, rows := range call.rows {
		e := lower.Expert{Record: r.buffer(ir.Type{}, recordBytes), Rows: rows}
		for j := range rows {
			e.W = append(e.W, 1/float32(2+(3*i+7*j)%11))
		}
		for _, w := range g.Weights() {
			v := *w
			v.Name = fmt.Sprint(i, w.Name)
			x := random(t, nil, &v)
			r.in[v.Name] = x
			at := e.Record.Bytes()[w.Attr.(ir.WeightAttr).Offset:]
			if lower.IsMatrix(g, w) {
				n, err := c.packing.Size(x.Type)
				require.NoError(t, err)
				require.NoError(t, c.packing.Pack(at[:n], matrixOf(x)))
			} else {
				lower.Encode(at, x.F, x.Type.DType)
			}
			e.Factors = append(e.Factors, matrixOf(x).Factor)
		}
		r.call.Group = append(r.call.Group, e)
	}
	return r
}

// judgeGroup compares y with what the interpreter makes of it.
func (r *rig) judgeGroup(rel float64) {
	r.t.Helper()
	want := interp.New(r.in["y"].Type)
	copy(want.F, r.in["y"].F)
	for i, e := range r.call.Group {
		in := map[string]*interp.Tensor{"x": r.in["x"], "y": want, "rows": interp.Ints(e.Rows, len(e.Rows)), "w": interp.Floats(e.W, len(e.W))}
		for _, w := range r.graph.Weights() {
			in[w.Name] = r.in[fmt.Sprint(i, w.Name)]
		}
		_, err := interp.Eval(nil, r.graph, in, interp.Options{})
		require.NoError(r.t, err)
	}
	near(r.t, "y", load(r.call.Out[0]), want, rel)
}

// A way is how a group is run.
type way struct {
	threads, rowCap int
	fuse            bool
	apart           bool // a call for each expert
	packing         lower.Packing
}

func (w way) backend() lower.Backend {
	b := New(Options{Threads: w.threads}).(*backend)
	b.rowCap, b.fuse = w.rowCap, w.fuse
	return b
}

// run returns y, which must be the interpreter's within rel if that is not 0.
func (w way) run(t *testing.T, m *ir.Module, call groupCall, rel float64) []byte {
	c := compiles(t, m, w.backend(), w.packing)
	require.Equal(t, w.fuse && !c.foreign(), c.programs["expert0"].group.fused != nil, "fused")
	r := newGroupRig(t, c, m.Graphs[0], call)
	group := r.call.Group
	if !w.apart {
		r.mustRun()
	}
	for i := range group {
		if w.apart {
			r.call.Group = group[i : i+1]
			r.mustRun()
		}
	}
	if r.call.Group = group; rel > 0 {
		r.judgeGroup(rel)
	}
	return bytes.Clone(r.call.Out[0].Bytes())
}

// TestGroupBits runs one group in every way: the bits must be the same.
func TestGroupBits(t *testing.T) {
	for _, c := range []struct {
		name, text string
		rel        float64
	}{
		{"f32", gatedText("f32", "f32", "%11 %10"), 1e-5},
		{"bf16, operands exchanged", gatedText("f32", "bf16", "%10 %11"), 1e-5},
		{"a8 by w4g32", gatedText("a8", "w4g32", "%11 %10"), 1e-2}, // hidden values may round to the next code
		{"a8g128 by w8", gatedText("a8g128", "w8", "%10 %11"), 1e-2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(t, c.text)
			var first []byte
			for _, w := range []way{
				{1, 1024, false, false, kernel.Packing},
				{1, 1024, true, false, kernel.Packing},
				{3, 1024, true, false, kernel.Packing},
				{2, 1024, true, true, kernel.Packing},
				{2, 7, true, false, kernel.Packing},
				{5, 100, true, false, kernel.Packing},
				{2, 7, false, false, kernel.Packing},
				{4, 100, false, true, kernel.Packing},
				{2, 1024, true, false, reversed},
				{2, 1024, true, false, reversedRows()},
			} {
				got := w.run(t, m, twoExperts(), c.rel)
				if first == nil {
					first, c.rel = got, 0
				}
				require.True(t, bytes.Equal(first, got), "%d threads, %d rows, fused %v, apart %v, packing %s: other bits", w.threads, w.rowCap, w.fuse, w.apart, w.packing.Name)
			}
		})
	}
}

// TestOtherBody runs a body that is not gated op by op, and one that nearly is.
func TestOtherBody(t *testing.T) {
	other := `
graph expert0
  %1:x = input : f32[T,128]
  %2:rows = input : i32[R]
  %3:w = input : f32[R]
  %4:y = input : f32[T,128]
  %5:bias = weight offset=65536 : bf16[128]
  %6:expert.down.weight = weight offset=0 : f32[128,128]
  %7 = gather_rows %1 %2 : f32[R,128]
  %8 = matmul %7 %6 : f32[R,128]
  %9 = add %8 %5 : f32[R,128]
  %10 = scale_rows %9 %3 : f32[R,128]
  %11 = scatter_add %4 %10 %2 inplace=0 : f32[T,128]
  return %11
`
	swish := strings.Replace(gatedText("f32", "f32", "%11 %10"), "silu", "sigmoid", 1)
	for _, text := range []string{other, swish} {
		c := compiles(t, parse(t, text), way{threads: 2, rowCap: 50, fuse: true}.backend(), kernel.Packing)
		require.Nil(t, c.programs["expert0"].group.fused)
		r := newGroupRig(t, c, parse(t, text).Graphs[0], twoExperts())
		r.mustRun()
		r.judgeGroup(1e-5)
	}
}

func TestGroupFootprint(t *testing.T) {
	for _, a := range [][2]string{{"f32", "f32"}, {"a8", "w4g64"}} {
		m := parse(t, gatedText(a[0], a[1], "%11 %10"))
		for _, w := range []way{{threads: 2, rowCap: 1024, fuse: true}, {threads: 2, rowCap: 1024}, {threads: 2, rowCap: 9, fuse: true}} {
			c := compiles(t, m, w.backend(), kernel.Packing)
			r := newGroupRig(t, c, m.Graphs[0], twoExperts())
			dims := lower.Dims{"T": 310, "R": 304}
			footprint := func(dims lower.Dims) int64 {
				n, err := c.Footprint("expert0", dims)
				require.NoError(t, err)
				return n
			}
			want := footprint(dims)
			r.mustRun()
			require.Equal(t, want, int64(len(c.space.bytes)), "%v", w)
			require.Equal(t, lower.Dims{"T": 310, "R": 304}, dims, "dims are the caller's")
			require.GreaterOrEqual(t, footprint(lower.Dims{"T": 310}), want, "of as many rows as are worked on at once")
			require.Less(t, footprint(lower.Dims{"T": 1 << 20, "R": 1 << 20}), int64(groupBytes), "of very many rows")
		}
	}
}

// TestGroupSteadyStateAllocates nothing in a fused call, and no more than the
// layout of the slots op by op.
func TestGroupSteadyStateAllocates(t *testing.T) {
	m := parse(t, gatedText("a8", "w4g32", "%11 %10"))
	for fuse, most := range map[bool]float64{true: 0, false: 30} {
		for _, threads := range []int{1, 4} {
			c := compiles(t, m, way{threads: threads, rowCap: 100, fuse: fuse}.backend(), kernel.Packing)
			r := newGroupRig(t, c, m.Graphs[0], twoExperts())
			r.mustRun()
			if n := testing.AllocsPerRun(10, r.mustRun); n > most {
				t.Errorf("fused %v, %d threads: a group call allocates %v times, want at most %v", fuse, threads, n, most)
			}
			require.Equal(t, threads > 1, c.pool.team.wake != nil, "%d threads: several were asked to work", threads)
			if n := mallocs(most, 10, r.mustRun); n > most {
				t.Errorf("fused %v, %d threads at once: a group call allocates %v times, want at most %v", fuse, threads, n, most)
			}
		}
	}
}

// mallocs is testing.AllocsPerRun with threads at work at once, tried again while it
// is above most: at first Go's scheduler allocates too, an object each time that a
// goroutine sleeps, until each processor has some of them left.
func mallocs(most float64, runs int, f func()) float64 {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(min(4, goruntime.NumCPU())))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f()
	least := math.Inf(1)
	for tries := 0; tries < 20 && least > most; tries++ {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		for range runs {
			f()
		}
		goruntime.ReadMemStats(&after)
		least = min(least, float64((after.Mallocs-before.Mallocs)/uint64(runs)))
	}
	return least
}

// TestGroupOfFewer takes no more memory than one of more rows, for which a plan has it.
func TestGroupOfFewer(t *testing.T) {
	for _, fuse := range []bool{true, false} {
		c := compiles(t, parse(t, gatedText("f32", "f32", "%11 %10")), way{threads: 2, rowCap: 1 << 16, fuse: fuse}.backend(), kernel.Packing)
		before, grew := int64(0), 0
		for rows := 1; rows < 1<<16; rows += 999 {
			n, err := c.Footprint("expert0", lower.Dims{"T": 1 << 16, "R": rows})
			require.NoError(t, err)
			require.GreaterOrEqual(t, n, before, "fused %v: bytes for %d rows, and for 999 less", fuse, rows)
			if n > before {
				grew++
			}
			before = n
		}
		require.Greater(t, grew, 5, "fused %v", fuse)
		require.Less(t, grew, 50, "fused %v: so many rows are worked on in pieces", fuse)
	}
}

func TestGroupWithoutRows(t *testing.T) {
	m := parse(t, gatedText("a8", "w4g32", "%11 %10"))
	c := compiles(t, m, nil, kernel.Packing)
	r := newGroupRig(t, c, m.Graphs[0], groupCall{4, [][]int32{nil, {}, nil}})
	before := bytes.Clone(r.call.Out[0].Bytes())
	r.mustRun()
	require.Equal(t, before, r.call.Out[0].Bytes())
	r.call.Group = nil
	r.mustRun()
	require.Equal(t, before, r.call.Out[0].Bytes())
}

// TestExpertAsPlainGraph gives rows and weights as buffers.
func TestExpertAsPlainGraph(t *testing.T) {
	m := parse(t, gatedText("f32", "f32", "%11 %10"))
	c := compiles(t, m, nil, kernel.Packing)
	r := newRig(t, c, m.Graphs[0], lower.Dims{"T": 9, "R": 3}, map[string]*interp.Tensor{"rows": interp.Ints([]int32{1, 4, 8}, 3)})
	r.mustRun()
	r.judge(1e-5)
}

// A patience is a context that is cancelled when it has been asked n times.
type patience struct {
	context.Context
	n int
}

func (p *patience) Err() error {
	if p.n--; p.n < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelAnywhere cancels at each point where Run looks.
func TestCancelAnywhere(t *testing.T) {
	m := parse(t, gatedText("a8", "w4g32", "%11 %10"))
	for _, fuse := range []bool{true, false} {
		c := compiles(t, m, way{threads: 2, rowCap: 100, fuse: fuse}.backend(), kernel.Packing)
		r := newGroupRig(t, c, m.Graphs[0], twoExperts())
		looks := 0
		for ; ; looks++ {
			err := r.run(&patience{context.Background(), looks})
			if err == nil {
				break
			}
			require.Equal(t, context.Canceled, err)
		}
		require.Greater(t, looks, 10, "looks at the context of a group of 4 pieces")
	}
}

func TestMalformedGroup(t *testing.T) {
	m := parse(t, gatedText("f32", "w4g32", "%11 %10"))
	c := compiles(t, m, nil, kernel.Packing)
	for _, f := range []struct {
		want  string
		spoil func(r *rig, e *lower.Expert)
	}{
		{"expert 0 of 3: rows[1] is 310 after 0, want rows to ascend below 310", func(_ *rig, e *lower.Expert) { e.Rows = []int32{0, 310, 311, 312} }},
		{"expert 0 of 3: rows[2] is 5 after 5, want rows to ascend below 310", func(_ *rig, e *lower.Expert) { e.Rows = []int32{0, 5, 5, 9} }},
		{"expert 0 of 3: 4 rows, 3 weights of rows and 3 factors, want as many weights as rows and 3 factors", func(_ *rig, e *lower.Expert) { e.W = e.W[1:] }},
		{"expert 0 of 3: 4 rows, 4 weights of rows and 2 factors, want as many weights as rows and 3 factors", func(_ *rig, e *lower.Expert) { e.Factors = e.Factors[1:] }},
		{"expert 0 of 3: weight expert.gate.weight: factor is 0, want a power of two", func(_ *rig, e *lower.Expert) { e.Factors[0] = 0 }},
		{"expert 0 of 3: record: buffer of 196992 bytes at 64 is not within its 196992 bytes of memory", func(_ *rig, e *lower.Expert) { e.Record.Off = 64 }},
		{"expert 0 of 3: record: buffer starts at 2, which is no multiple of 4", func(_ *rig, e *lower.Expert) { e.Record.Off, e.Record.Len = 2, 1024 }},
		{"expert 0 of 3: weight expert.up.weight: its 9216 bytes at 131328 are not within the record's 131392", func(_ *rig, e *lower.Expert) { e.Record.Len = 131392 }},
		{"input w: the experts of a group call give it", func(r *rig, _ *lower.Expert) { r.call.In[2] = r.call.In[3] }},
		{"output %17 is written in place, and its buffer is not that of input y", func(r *rig, _ *lower.Expert) {
			r.call.Out = []lower.Buffer{r.buffer(r.call.Out[0].Type, -1)}
		}},
		{"call has 3 inputs, 0 weights and 1 outputs, want 4, 0 and 1", func(r *rig, _ *lower.Expert) { r.call.In = r.call.In[1:] }},
	} {
		r := newGroupRig(t, c, m.Graphs[0], twoExperts())
		f.spoil(r, &r.call.Group[0])
		require.EqualError(t, r.run(context.Background()), "graph expert0: "+f.want)
	}
}
