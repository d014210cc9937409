package planner_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/simulate"
	"estream/runtime"
	"estream/runtime/planner"
)

var update = flag.Bool("update", false, "write what the phone is predicted to do into testdata/phone.txt")

// A shape is what of a config.json a phone's time follows from.
type shape struct {
	Layers       int   `json:"num_hidden_layers"`
	Hidden       int64 `json:"hidden_size"`
	Experts      int   `json:"num_experts"`
	LocalExperts int   `json:"num_local_experts"`
	TopK         int   `json:"num_experts_per_tok"`
	Intermediate int64 `json:"intermediate_size"`
	MoE          int64 `json:"moe_intermediate_size"`
	Heads        int64 `json:"num_attention_heads"`
	KVHeads      int64 `json:"num_key_value_heads"`
	HeadDim      int64 `json:"head_dim"`
	Vocab        int64 `json:"vocab_size"`
}

func readShape(t *testing.T, name string) (s shape) {
	text, err := os.ReadFile("../../testdata/configs/" + name + ".config.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &s))
	s.Experts += s.LocalExperts
	if s.MoE == 0 {
		s.MoE = s.Intermediate
	}
	if s.HeadDim == 0 {
		s.HeadDim = s.Hidden / s.Heads
	}
	return s
}

// expert and dense are the weights of an expert and of a layer's attention.
func (s shape) expert() int64 { return 3 * s.Hidden * s.MoE }
func (s shape) dense() int64  { return 2 * s.Hidden * s.HeadDim * (s.Heads + s.KVHeads) }

// record is the bytes of an expert in int4 with an f16 scale for each 128.
func (s shape) record() int64 { return (s.expert()/2 + s.expert()/64 + 16383) &^ 16383 }

// A phone is Snapdragon's Hexagon v81 with UFS 4.1 storage, as far as two numbers say what it computes.
type phone struct {
	ops      float64 // operations a second of every product
	layer    float64 // seconds of a layer beside products: launches, routing on the processor, rows gathered
	before   float64 // instead of layer: operations a second of what comes before routes; 0: as ops
	streamed bool    // dense weights are read, int8, as estream does; else they are in memory
	banks    int
	group    int
}

// storage is sequential reading of UFS 4.1 in bytes a second.
const storage = 3.5e9

// run predicts a prompt of so many tokens.
func (p phone) run(t *testing.T, s shape, tokens int, schedule pager.Schedule) simulate.Totals {
	l := planner.Layer{Class: "c", Stride: s.record(), Experts: s.Experts, TopK: s.TopK}
	pkg := planner.Package{}
	if p.streamed {
		l.Dense = s.dense()
	}
	for range s.Layers {
		pkg.Layers = append(pkg.Layers, l)
	}
	for n := s.Vocab * s.Hidden; n > 0 && p.streamed; n -= 1 << 20 {
		pkg.Layers = append(pkg.Layers, planner.Layer{Class: "head", Dense: min(n, 1<<20)}) // one row of logits takes no time
	}
	class := planner.Class{
		Body:  planner.Line{Call: p.layer, Row: 2 * float64(s.dense()) / cmp.Or(p.before, p.ops), More: 4 * float64(s.Heads*s.HeadDim) / cmp.Or(p.before, p.ops)},
		Group: planner.Line{Row: 2 * float64(s.expert()) / p.ops},
	}
	x := planner.Planner{Package: pkg, Schedule: schedule, Profile: &planner.Profile{
		Disk: simulate.Disk{Rate: storage}, Classes: map[string]planner.Class{"c": class, "head": {}}}}
	totals, err := x.Predict(runtime.Plan{Tokens: tokens, Sequences: 1, Rows: 1, Chunk: tokens, Head: 1, Readers: 2,
		Geometry: pager.Geometry{Banks: p.banks, Group: p.group, Stride: l.Stride, DenseSlot: max(l.Dense, 1<<20)}}, true)
	require.NoError(t, err)
	return totals
}

// The paper's bubbles of OLMoE at 1,024 tokens.
var bubbles = map[pager.Schedule]float64{pager.OnDemand: 34.41, pager.AfterRouting: 21.36, pager.BeforeRouting: 9.05}

// fit finds the two numbers from the first two bubbles. On demand nothing overlaps, so the bubble says what computation
// takes; after routing it says how much of that comes before routes are known.
func (p phone) fit(t *testing.T, olmoe shape) phone {
	const tokens = 1024
	p.ops = math.Inf(1)
	reads := p.run(t, olmoe, tokens, pager.OnDemand).Reads.Seconds()
	compute := reads/(1-bubbles[pager.OnDemand]/100) - reads
	experts := 2 * tokens * float64(olmoe.TopK) * float64(olmoe.expert())
	body := 2*tokens*float64(olmoe.dense()) + 4*float64(olmoe.Heads*olmoe.HeadDim)*tokens*(tokens+1)/2
	compute /= float64(olmoe.Layers)
	rated := p.before > 0
	low, high := 0.0, compute // seconds of a layer that are found
	for range 30 {
		x := (low + high) / 2
		if rated {
			p.before, p.ops = body/x, experts/(compute-x)
		} else {
			p.layer, p.ops = x, (experts+body)/(compute-x)
		}
		if 100*p.run(t, olmoe, tokens, pager.AfterRouting).Bubble() > bubbles[pager.AfterRouting] {
			high = x
		} else {
			low = x
		}
	}
	return p
}

// TestPhone fits a phone to the first two bubbles and predicts the third and the paper's Table 3. The differences are what
// they are; the text is for docs/planner.md.
func TestPhone(t *testing.T) {
	var out strings.Builder
	olmoe, qwen, mixtral := readShape(t, "OLMoE-1B-7B-0924"), readShape(t, "Qwen3-30B-A3B"), readShape(t, "Mixtral-8x7B-v0.1")
	table := []struct {
		name   string
		shape  shape
		tokens int
		paper  float64
	}{
		{"Qwen3-30B", qwen, 1024, 4.838}, {"Qwen3-30B", qwen, 2048, 5.043}, {"Qwen3-30B", qwen, 3072, 5.368}, {"Qwen3-30B", qwen, 4096, 6.836},
		{"Mixtral", mixtral, 1024, 7.086}, {"Mixtral", mixtral, 2048, 8.742},
	}
	for _, p := range []phone{{banks: 3, group: 4}, {banks: 3, group: 4, streamed: true}, {banks: 3, group: 4, before: 1}, {banks: 3, group: 1}, {banks: 3, group: 2}, {banks: 4, group: 4}, {banks: 8, group: 4}} {
		p = p.fit(t, olmoe)
		dense := "in memory"
		if p.streamed {
			dense = "read"
		}
		fmt.Fprintf(&out, "%d banks of %d experts, dense weights %s: %.2f TOPS, ", p.banks, p.group, dense, p.ops/1e12)
		if p.before > 0 {
			fmt.Fprintf(&out, "%.2f before routes\n", p.before/1e12)
		} else {
			fmt.Fprintf(&out, "%.1f ms a layer\n", 1e3*p.layer)
		}
		for _, s := range []pager.Schedule{pager.OnDemand, pager.AfterRouting, pager.BeforeRouting} {
			got := 100 * p.run(t, olmoe, 1024, s).Bubble()
			fmt.Fprintf(&out, "  OLMoE     1024  bubble %-14v %5.2f %%  paper %5.2f %%  %+5.2f\n", s, got, bubbles[s], math.Round(100*(got-bubbles[s]))/100+0)
			if s != pager.BeforeRouting {
				require.InDelta(t, bubbles[s], got, 0.02, "what was fitted: %+v", p)
			}
		}
		for _, row := range table {
			got := p.run(t, row.shape, row.tokens, pager.BeforeRouting)
			fmt.Fprintf(&out, "  %-9s %d  %.3f s  paper %.3f s  %+5.1f %%  (reads %.3f s, computation %.3f s)\n",
				row.name, row.tokens, got.Time.Seconds(), row.paper, 100*(got.Time.Seconds()/row.paper-1), got.Reads.Seconds(), got.Compute.Seconds())
		}
	}
	const file = "testdata/phone.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}
