package interp_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
)

func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for j := range x {
		x[j] = float32(r.NormFloat64())
	}
	return x
}

// TestWindowedAttention compares steps of several lengths with the formula
// written out: 4 heads of keys of 6 in 2 groups, values of 3, a window of 5.
func TestWindowedAttention(t *testing.T) {
	const n, h, g, d, dv, window, scale = 17, 4, 2, 6, 3, 5, 0.4
	m := parse(t, fmt.Sprintf("%%1:q = input : f32[T,%d,%d]\n  %%2:k = input : f32[T,%d,%d]\n  %%3:v = input : f32[T,%d,%d]\n"+
		"  %%4:s = input : grow(f32[S,%d,%d],f32[S,%d,%d])\n%s"+
		"  %%10 = append %%4 %%6 %%7 %%8 %%2 %%3 inplace=0 : grow(f32[S,%d,%d],f32[S,%d,%d])\n"+
		"  %%11 = attention %%1 %%10 %%5 %%6 %%7 %%8 %%9 scale=%v window=%d : f32[T,%d,%d]\n  return %%11 %%10",
		h, d, g, d, g, dv, g, d, g, dv, step(5), g, d, g, dv, scale, window, h, dv))
	r := rand.New(rand.NewPCG(1, 2))
	q, k, v := normal(r, n*h*d), normal(r, n*g*d), normal(r, n*g*dv)
	s := state(ir.Grow, f(make([]float32, 30*g*d), 30, g, d), f(make([]float32, 30*g*dv), 30, g, dv))
	var got []float32
	for past, at := 0, 0; past < n; past = at {
		at = min(n, past+1+past%7)
		out, err := interp.Eval(m, m.Graphs[0], tensors{
			"q": f(q[past*h*d:at*h*d], at-past, h, d), "k": f(k[past*g*d:at*g*d], at-past, g, d), "v": f(v[past*g*dv:at*g*dv], at-past, g, dv),
			"s": s, "pos": i(make([]int32, at-past), at-past), "seq": i([]int32{0, int32(at - past)}, 2), "past": i([]int32{int32(past)}, 1), "base": i([]int32{9}, 1), "parent": i([]int32{-1}, 1),
		}, interp.Options{})
		require.NoError(t, err)
		got = append(got, out[0].F...)
	}
	var want []float32
	for row := range n * h {
		p, head := row/h, row%h/(h/g)
		var sum, mix [dv + 1]float64
		for j := max(0, p-window+1); j <= p; j++ {
			dot := 0.0
			for l := range d {
				dot += float64(q[row*d+l]) * float64(k[(j*g+head)*d+l])
			}
			w := math.Exp(dot * scale)
			sum[0] += w
			for l := range dv {
				mix[l] += w * float64(v[(j*g+head)*dv+l])
			}
		}
		for l := range dv {
			want = append(want, float32(mix[l]/sum[0]))
		}
	}
	requireClose(t, "attention", got, want, 1e-6)
}

// TestConvInChunks runs two sequences in one step and in several, with steps
// shorter than the window and steps that leave a sequence out.
func TestConvInChunks(t *testing.T) {
	const d, taps = 3, 4
	m := parse(t, fmt.Sprintf("%%1:x = input : f32[T,%d]\n  %%2:w = weight offset=0 : f32[%d,%d]\n  %%3:s = input : window(f32[B,%d,%d])\n  %%4:seq = input : i32[B+1]\n"+
		"  %%5 = conv %%1 %%2 %%3 %%4 : f32[T,%d]\n  %%6 = shift %%3 %%4 %%1 inplace=0 : window(f32[B,%d,%d])\n  return %%5 %%6", d, d, taps, taps-1, d, d, taps-1, d))
	r := rand.New(rand.NewPCG(3, 4))
	w, xs := f(normal(r, d*taps), d, taps), [2][]float32{normal(r, 11*d), normal(r, 8*d)}
	run := func(steps ...[2]int) (ys [2][]float32, last *interp.Tensor) {
		last = state(ir.Window, f(make([]float32, 2*(taps-1)*d), 2, taps-1, d))
		at := [2]int{}
		for _, n := range steps {
			a, b := xs[0][at[0]*d:(at[0]+n[0])*d], xs[1][at[1]*d:(at[1]+n[1])*d]
			out, err := interp.Eval(m, m.Graphs[0], tensors{
				"x": f(slices.Concat(a, b), n[0]+n[1], d), "w": w, "s": last, "seq": i([]int32{0, int32(n[0]), int32(n[0] + n[1])}, 3),
			}, interp.Options{})
			require.NoError(t, err)
			ys[0], ys[1] = append(ys[0], out[0].F[:n[0]*d]...), append(ys[1], out[0].F[n[0]*d:]...)
			at[0], at[1] = at[0]+n[0], at[1]+n[1]
		}
		return ys, last
	}
	want, wantState := run([2]int{11, 8})
	got, gotState := run([2]int{1, 0}, [2]int{2, 3}, [2]int{0, 1}, [2]int{5, 4}, [2]int{3, 0})
	requireClose(t, "first sequence", got[0], want[0], 0)
	requireClose(t, "second sequence", got[1], want[1], 0)
	requireClose(t, "state", gotState.Parts[0].F, wantState.Parts[0].F, 0)
}

// TestCalleeEqualsBody extracts the experts of the tiny OLMoE by hand.
func TestCalleeEqualsBody(t *testing.T) {
	ids := readTensors(t, folder+"goldens.safetensors")["p33.input_ids"].I
	m := newModel(t, "model.safetensors")
	weight := func(n, k int) ir.Type { return ir.Tensor(ir.F32, ir.N(n), ir.N(k)) }
	b := ir.NewBuilder("expert0", map[string]ir.Type{
		"expert.gate.weight": weight(width, hidden), "expert.up.weight": weight(width, hidden), "expert.down.weight": weight(hidden, width),
	})
	x, rows := b.Input("x", ir.Tensor(ir.F32, ir.T, ir.N(hidden))), b.Input("rows", ir.Tensor(ir.I32, ir.R))
	w, y := b.Input("w", ir.Tensor(ir.F32, ir.R)), b.Input("y", ir.Tensor(ir.F32, ir.T, ir.N(hidden)))
	x = b.Op(ir.GatherRows, nil, x, rows)
	x = b.Linear(b.Mul(b.SiLU(b.Linear(x, "expert.gate")), b.Linear(x, "expert.up")), "expert.down")
	g, err := b.Finish(b.Op(ir.ScatterAdd, ir.InplaceAttr{}, y, b.Op(ir.ScaleRows, nil, x, w), rows))
	require.NoError(t, err)
	for _, l := range m.m.Graphs {
		if e := l.Value("experts"); e != nil {
			e.Body, e.Attr = nil, ir.ExpertsAttr{Callee: "expert0"}
		}
	}
	m.m.Graphs = append(m.m.Graphs, g)
	require.NoError(t, m.m.Verify())
	m.step(alone(ids, 0))
	requireClose(t, "logits", m.logits.F, plain(t, ids), 0)
}
