package static_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// body returns a layer's body, and its tiers T2 and T4 by S4 and S8.
func body(kv string, window int) string {
	var s strings.Builder
	fmt.Fprintf(&s, `
graph c0.body on dev
  %%1:x = input : f32[T,1]
  %%2:pos = input : i32[T]
  %%3:seq = input : i32[B+1]
  %%4:past = input : i32[B]
  %%5:base = input : i32[B]
  %%6:parent = input : i32[B]
  %%7:state = input : grow(%[1]s[S,1,1],%[1]s[S,1,1])
  %%8 = reshape %%1 dims=T,1,1 : f32[T,1,1]
  %%9:state.next = append %%7 %%3 %%4 %%5 %%8 %%8 inplace=0 : grow(%[1]s[S,1,1],%[1]s[S,1,1])
  %%10 = attention %%8 %%9 %%2 %%3 %%4 %%5 %%6 scale=1 window=%[2]d : f32[T,1,1]
  %%11:y = reshape %%10 dims=T,1 : f32[T,1]
  return %%11 %%9
`, kv, window)
	for _, tokens := range []int{2, 4} {
		for _, past := range []int{4, 8} {
			fmt.Fprintf(&s, `
graph c0.body@T%[1]d,S%[2]d on dev
  %%1:x = input : f32[%[1]d,1]
  %%2:mask = input : f32[%[1]d,%[3]d]
  %%3:past.0 = input : f32[%[2]d,1,1]
  %%4:past.1 = input : %[4]s[%[2]d,1,1]
  %%5 = reshape %%1 dims=%[1]d,1,1 : f32[%[1]d,1,1]
  %%6:new.1 = reshape %%1 dims=%[1]d,1,1 : f32[%[1]d,1,1]
  %%7 = attention_masked %%5 %%3 %%4 %%5 %%6 %%2 scale=1 window=0 : f32[%[1]d,1,1]
  %%8:y = reshape %%7 dims=%[1]d,1 : f32[%[1]d,1]
  return %%8 %%5 %%6
`, tokens, past, tokens+past, kv)
		}
	}
	return strings.ReplaceAll(s.String(), "%5 = ", "%5:new.0 = ")
}

// A stepCase is a step over a state of 12 rows, row i of which holds i+0.5.
type stepCase struct {
	name                          string
	window                        int
	pos, seq, past, base, parents []int32
	runs                          string // pos, mask and past.0 of each
	state                         []float32
}

func TestSequences(t *testing.T) {
	for _, c := range []stepCase{
		{
			name: "first token",
			pos:  []int32{0}, seq: []int32{0, 1}, past: []int32{0}, base: []int32{2}, parents: []int32{-1},
			runs:  "T2,S4: x [1 0] mask ....o. .....o past [0 0 0 0]",
			state: []float32{0.5, 1.5, 1},
		},
		{
			name: "the smaller tier of S",
			pos:  []int32{4, 5}, seq: []int32{0, 2}, past: []int32{4}, base: []int32{0}, parents: []int32{-1},
			runs:  "T2,S4: x [1 2] mask ooooo. oooooo past [0.5 1.5 2.5 3.5]",
			state: []float32{0.5, 1.5, 2.5, 3.5, 1, 2},
		},
		{
			name: "one over the smaller tier of S",
			pos:  []int32{5}, seq: []int32{0, 1}, past: []int32{5}, base: []int32{1}, parents: []int32{-1},
			runs:  "T2,S8: x [1 0] mask ooooo...o. .........o past [1.5 2.5 3.5 4.5 5.5 0 0 0]",
			state: []float32{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 1},
		},
		{
			name: "chunks of a prompt see those before",
			pos:  []int32{0, 1, 2, 3, 4}, seq: []int32{0, 5}, past: []int32{0}, base: []int32{0}, parents: []int32{-1},
			runs: "T4,S4: x [1 2 3 4] mask ....o... ....oo.. ....ooo. ....oooo past [0 0 0 0]\n" +
				"T2,S4: x [5 0] mask ooooo. .....o past [1 2 3 4]",
			state: []float32{1, 2, 3, 4, 5},
		},
		{
			name: "sequences are apart",
			pos:  []int32{1, 0}, seq: []int32{0, 1, 1, 2}, past: []int32{1, 3, 0}, base: []int32{6, 2, 0}, parents: []int32{-1, -1, -1},
			runs: "T2,S4: x [1 0] mask o...o. .....o past [6.5 0 0 0]\n" +
				"T2,S4: x [2 0] mask ....o. .....o past [0 0 0 0]",
			state: []float32{2, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 1},
		},
		{
			name: "a parent runs first, its prefix comes first",
			pos:  []int32{3, 4, 2}, seq: []int32{0, 2, 3}, past: []int32{0, 2}, base: []int32{8, 0}, parents: []int32{1, -1},
			runs: "T2,S4: x [3 0] mask oo..o. .....o past [0.5 1.5 0 0]\n" +
				"T2,S4: x [1 2] mask ooo.o. ooo.oo past [0.5 1.5 3 0]",
			state: []float32{0.5, 1.5, 3, 3.5, 4.5, 5.5, 6.5, 7.5, 1, 2},
		},
		{
			name: "part of a parent, then own rows",
			pos:  []int32{4}, seq: []int32{0, 0, 1}, past: []int32{4, 3}, base: []int32{0, 5}, parents: []int32{-1, 0},
			runs:  "T2,S4: x [1 0] mask ooooo. .....o past [0.5 5.5 6.5 7.5]",
			state: []float32{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 1},
		},
		{
			name: "a window keeps S small", window: 3,
			pos: []int32{9, 10, 11}, seq: []int32{0, 3}, past: []int32{9}, base: []int32{0}, parents: []int32{-1},
			runs:  "T4,S4: x [1 2 3 0] mask oo..o... .o..oo.. ....ooo. .......o past [7.5 8.5 0 0]",
			state: []float32{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 1, 2, 3},
		},
		{
			name: "a window within a parent's prefix", window: 4,
			pos: []int32{6}, seq: []int32{0, 0, 1}, past: []int32{6, 1}, base: []int32{0, 7}, parents: []int32{-1, 0},
			runs:  "T2,S4: x [1 0] mask ooo.o. .....o past [3.5 4.5 7.5 0]",
			state: []float32{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 1},
		},
		{
			name: "a window of one", window: 1,
			pos: []int32{3, 4}, seq: []int32{0, 2}, past: []int32{3}, base: []int32{0}, parents: []int32{-1},
			runs:  "T2,S4: x [1 2] mask ....o. .....o past [0 0 0 0]",
			state: []float32{0.5, 1.5, 2.5, 1, 2},
		},
		{
			name: "nothing",
			seq:  []int32{0, 0}, past: []int32{3}, base: []int32{0}, parents: []int32{-1},
		},
	} {
		for _, kv := range []string{"f32", "bf16"} {
			t.Run(c.name+" "+kv, func(t *testing.T) { c.run(t, kv) })
		}
	}
}

func (c stepCase) run(t *testing.T, kv string) {
	d := &recorder{}
	p := program(t, d, body(kv, c.window), "c0.body")
	call, state := c.call(kv)
	require.NoError(t, p.Run(context.Background(), call))
	var runs []string
	for _, run := range strings.Split(strings.TrimSpace(d.log.String()), "c0.body@") {
		if f := strings.Split(run, "\n"); len(f) > 4 {
			require.Equal(t, strings.TrimPrefix(f[3], "  past.0"), strings.TrimPrefix(f[4], "  past.1"))
			runs = append(runs, f[0]+": "+strings.TrimSpace(f[1])+" "+strings.TrimSpace(f[2])+" "+strings.Replace(strings.TrimSpace(f[3]), "past.0", "past", 1))
		}
	}
	require.Equal(t, c.runs, strings.Join(runs, "\n"))
	require.Equal(t, fmt.Sprint(count(101, len(c.pos))), fmt.Sprint(lower.F32(call.Out[0].Bytes())))
	for _, part := range call.Out[1].Parts() {
		got, want := floats(part), floats(state)[:12]
		require.Equal(t, append(c.state, want[len(c.state):]...), got)
	}
}

// call returns the call, and the state's first part as it is before it.
func (c stepCase) call(kv string) (*lower.Call, lower.Buffer) {
	d, err := ir.ParseDType(kv)
	if err != nil {
		panic(err)
	}
	part := ir.Tensor(d, ir.N(12), ir.N(1), ir.N(1))
	state := lower.Buffer{Type: ir.StateOf(ir.Grow, part, part)}
	state.Len = lower.Size(state.Type)
	state.Mem = lower.Wrap(make([]float32, state.Len/4))
	for _, p := range state.Parts() {
		for i := range 12 {
			if x := float32(i) + 0.5; d == ir.F32 {
				lower.F32(p.Bytes())[i] = x
			} else {
				lower.U16(p.Bytes())[i] = quant.BF16(x)
			}
		}
	}
	before := state.Parts()[0]
	before.Mem = lower.Wrap(append([]float32(nil), lower.F32(state.Mem.Bytes())...))
	n := len(c.pos)
	x := f32s(count(1, n)...)
	return &lower.Call{
		In:  []lower.Buffer{x, i32s(c.pos...), i32s(c.seq...), i32s(c.past...), i32s(c.base...), i32s(c.parents...), state},
		Out: []lower.Buffer{f32s(count(0, n)...), state},
	}, before
}

func floats(b lower.Buffer) []float32 {
	if b.Type.DType == ir.F32 {
		return append([]float32(nil), lower.F32(b.Bytes())...)
	}
	var f []float32
	for _, h := range lower.U16(b.Bytes()) {
		f = append(f, quant.FromBF16(h))
	}
	return f
}

func TestRowsAreRounded(t *testing.T) {
	d := &recorder{}
	p := program(t, d, body("bf16", 0), "c0.body")
	call, _ := stepCase{pos: []int32{0}, seq: []int32{0, 1}, past: []int32{0}, base: []int32{0}, parents: []int32{-1}}.call("bf16")
	lower.F32(call.In[0].Bytes())[0] = 1 + 3.0/256 // between 1+2/256 and 1+4/256: to the even one
	require.NoError(t, p.Run(context.Background(), call))
	require.Equal(t, float32(1+4.0/256), floats(call.Out[1].Parts()[0])[0])
}

func TestPastBeyondTheTiers(t *testing.T) {
	d := &recorder{}
	p := program(t, d, body("f32", 0), "c0.body")
	for _, c := range []struct {
		stepCase
		want string
	}{
		{stepCase{pos: []int32{0, 9}, seq: []int32{0, 1, 2}, past: []int32{0, 9}, base: []int32{10, 0}, parents: []int32{-1, -1}},
			"dev: graph c0.body: sequence 1: 9 rows stand before token 0, and the largest tier of S takes 8: give the device a larger tier of S, or make the context shorter"},
		{stepCase{pos: count32(0, 12), seq: []int32{0, 12}, past: []int32{0}, base: []int32{0}, parents: []int32{-1}}, ""},
		{stepCase{pos: count32(1, 10), seq: []int32{0, 10}, past: []int32{1}, base: []int32{0}, parents: []int32{-1}},
			"dev: graph c0.body: sequence 0: 9 rows stand before token 8, and the largest tier of S takes 8: give the device a larger tier of S, or make the context shorter"},
	} {
		d.log.Reset()
		call, before := c.call("f32")
		err := p.Run(context.Background(), call)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
		require.Empty(t, d.log.String(), "a run of a call that fails")
		require.Equal(t, floats(before), floats(call.Out[1].Parts()[0]))
	}
}

func count32(from, n int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(from + i)
	}
	return s
}
