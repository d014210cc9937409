package mixer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/plugin/mixer"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/lowertest"
)

// hosted is the host with the operator.
func hosted() lower.Backend {
	return host.New(host.Options{Threads: 3, Ops: map[*ir.Op]host.Func{mixer.Op: mixer.Host}})
}

// graph has the operator alone.
func graph(b *ir.Builder, experts, k int) []*ir.Value {
	logits := b.Input("logits", ir.Tensor(ir.F32, ir.T, ir.N(experts)))
	ids := b.Input("ids", ir.Tensor(ir.I32, ir.T, ir.N(k)))
	return []*ir.Value{b.Op(mixer.Op, mixer.Attr{Jitter: 0.01}, logits, ids)}
}

func testCase(experts, k int, ids []int32) lowertest.Case {
	rows := len(ids) / k
	return lowertest.Case{
		Name:  fmt.Sprintf("sparsemixer [%d,%d] k %d", rows, experts, k),
		Dims:  lower.Dims{"T": rows},
		Build: func(b *ir.Builder) []*ir.Value { return graph(b, experts, k) },
		In:    map[string]*interp.Tensor{"ids": interp.Ints(ids, rows, k)},
	}
}

// The host computes what the reference does, whatever the rows beside.
func TestHost(t *testing.T) {
	o, rng := lowertest.Options{Interp: interp.Table{mixer.Op: mixer.Reference}}, rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 8, 2}, {5, 16, 2}, {200, 16, 2}, {3, 7, 1}, {2, 4, 4}, {0, 8, 2}} {
		var ids []int32
		for range s[0] {
			for _, e := range rng.Perm(s[1])[:s[2]] {
				ids = append(ids, int32(e))
			}
		}
		lowertest.RunCase(t, hosted(), o, testCase(s[1], s[2], ids))
	}
	infinite := testCase(4, 2, []int32{2, 0})
	infinite.In["logits"] = interp.Floats([]float32{1, float32(math.Inf(-1)), 3, 2.95}, 1, 4)
	lowertest.RunCase(t, hosted(), o, infinite)
	for _, id := range []int32{8, -1} {
		c := testCase(8, 2, []int32{0, 1, 2, id})
		c.Fails = true
		lowertest.RunCase(t, hosted(), o, c)
	}
}

// By hand: with a jitter of 0.01 a logit counts to 2 % below, of its own size or of
// the chosen one's.
func TestReference(t *testing.T) {
	e := math.Exp
	for _, c := range []struct {
		logits []float32
		ids    []int32
		want   [2]float64
	}{
		{[]float32{4, 0, -1, 3}, []int32{0, 3}, [2]float64{1, 1}},
		{[]float32{4, 3.95, -1, 3}, []int32{0, 1}, [2]float64{1 / (1 + e(-0.05)), 1}}, // within 0.08
		{[]float32{4, 3.9, -1, 3.85}, []int32{0, 1}, [2]float64{1, 1 / (1 + e(-0.05))}},
		{[]float32{1, -100, 0.5, -99}, []int32{0, 2}, [2]float64{1, 1}},
		{[]float32{-99, -100, -120, -101}, []int32{0, 1}, [2]float64{1 / (1 + e(-1) + e(-2)), 1 / (1 + e(-1))}}, // within 2 % of 100, 101
		{[]float32{0, 0, -1, -1}, []int32{0, 1}, [2]float64{0.5, 1}},                                            // nothing is nearer than equal
	} {
		b := ir.NewBuilder("g", nil)
		g, err := b.Finish(graph(b, 4, 2)...)
		require.NoError(t, err)
		in := map[string]*interp.Tensor{"logits": interp.Floats(c.logits, 1, 4), "ids": interp.Ints(c.ids, 1, 2)}
		table := interp.Core()
		table[mixer.Op] = mixer.Reference
		out, err := interp.Eval(nil, g, in, interp.Options{Ops: table})
		require.NoError(t, err)
		require.InDeltaSlice(t, c.want[:], []float64{float64(out[0].F[0]), float64(out[0].F[1])}, 1e-6, "logits %v, ids %v", c.logits, c.ids)
	}
}

func TestInfer(t *testing.T) {
	logits, ids := ir.Tensor(ir.F32, ir.T, ir.N(8)), ir.Tensor(ir.I32, ir.T, ir.N(2))
	for _, c := range []struct {
		logits, ids ir.Type
		jitter      float64
		want        string
	}{
		{logits, ids, 0, "f32[T,2]"},
		{ir.Tensor(ir.F32, ir.R, ir.N(8)), ids, 0, "want logits [T,E] and ids [T,k], got f32[R,8] and i32[T,2]"},
		{ir.Tensor(ir.F32, ir.T, ir.N(2), ir.N(4)), ids, 0, "want logits [T,E] and ids [T,k], got f32[T,2,4] and i32[T,2]"},
		{logits, ir.Tensor(ir.I32, ir.T, ir.N(0)), 0, "want logits [T,E] and ids [T,k], got f32[T,8] and i32[T,0]"},
		{ir.Tensor(ir.A8, ir.T, ir.N(8)), ids, 0, "want logits [T,E] and ids [T,k], got a8[T,8] and i32[T,2]"},
		{logits, ids, math.NaN(), "jitter=NaN is not a number from 0"},
		{logits, ids, -1, "jitter=-1 is not a number from 0"},
	} {
		got, err := mixer.Op.Infer([]ir.Type{c.logits, c.ids}, mixer.Attr{Jitter: c.jitter})
		if err != nil {
			require.Equal(t, c.want, err.Error())
			continue
		}
		require.Equal(t, c.want, got.String())
	}
}
