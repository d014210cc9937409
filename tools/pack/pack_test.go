package pack

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower/lowertest"
	"estream/models/checkpoint/checkpointtest"
	"estream/pager/layout"
	"estream/runtime"
)

// In every encoding each weight of the package is the checkpoint's, rounded
// once, as quant rounds the whole matrix; runs of the head one by one.
func TestEncodings(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.vocab = 112 // not whole panels
	from := c.write(t)
	for _, e := range append(Encodings, Encoding{Name: "exact"}) {
		for _, p := range []string{"host", "npu.kn"} {
			t.Run(e.Name+" "+p, func(t *testing.T) {
				o := options(t, "w4")
				o.Encoding = e
				if p != "host" {
					o.Packing = lowertest.NewNPU().Packings()[0]
				}
				if p != "host" && e.Experts.Full() {
					_, err := Run(t.Context(), from, filepath.Join(t.TempDir(), "pkg"), o)
					require.ErrorContains(t, err, "checkpoint "+from+": pass layout: record expert0: weight expert.gate.weight: packing npu.kn has no form of w4full32[32,64]: unsupported")
					return
				}
				dir, report := packed(t, from, o)
				s := load(t, dir, o.Packing)
				require.Equal(t, p, s.man.Packing)
				require.Equal(t, report.Written, int64(len(contents(t, dir)[layout.ExpertsName])+len(contents(t, dir)[layout.DenseName])))
				c.check(t, s)
				want := map[string]ir.DType{"expert.up.weight": e.Experts, "attn.q.weight": e.Attention, "head.weight": e.Head, "embed.weight": e.Embed, "ffn.router.weight": ir.Invalid, "ffn.norm.weight": ir.Invalid}
				for name, d := range want {
					if d == ir.Invalid {
						d = ir.BF16
					}
					k := map[bool]int{true: c.inner, false: c.hidden}[name == "expert.down.weight"]
					require.Equal(t, quant.Fit(d, k), s.types[name], name)
				}
			})
		}
	}
}

// check compares all of a package with the checkpoint.
func (c toy) check(t *testing.T, s stored) {
	t.Helper()
	require.Len(t, s.values, c.layers*(9+3*c.experts)+3)
	for k, got := range s.values {
		field := strings.Fields(k)
		layer, _ := strconv.Atoi(field[1])
		expert, _ := strconv.Atoi(field[2])
		w, n := c.source(field[0], layer, expert)
		var want []float32
		switch field[0] {
		case "head.weight": // a factor a run
			run := layout.RunColumns(c.vocab, len(s.man.Dense)-c.layers-1, 32)
			for from := 0; from < n; from += run {
				want = append(want, encoded(t, s.types[field[0]], min(run, n-from), w[from*c.hidden:min(n, from+run)*c.hidden])...)
			}
		default:
			want = encoded(t, s.types[field[0]], n, w)
		}
		require.Equal(t, want, got, k)
	}
}

func encoded(t *testing.T, d ir.DType, n int, w []float32) []float32 {
	m, err := quant.Encode(d, n, len(w)/n, slices.Clone(w))
	require.NoError(t, err)
	return m.Values()
}

// However many workers there are, and whatever the alignment's places, records
// stand in order, aligned, and the package is the same.
func TestPlacesAndWorkers(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.vocab, c.hidden = 3000, 128 // several runs of the head and blocks of rows
	from := c.write(t)
	for _, align := range []int64{0, 4 << 10, 64 << 10} {
		o := options(t, "bf16")
		o.Align, o.Workers = align, 1
		one, _ := packed(t, from, o)
		o.Workers = 7
		many, _ := packed(t, from, o)
		requireSame(t, one, many)

		s := load(t, one, o.Packing)
		require.Equal(t, map[int64]int64{0: 16 << 10, 4 << 10: 4 << 10, 64 << 10: 64 << 10}[align], s.man.Align)
		end := int64(0)
		for i, r := range s.man.Experts {
			require.Equal(t, []int{i / c.experts, i % c.experts}, []int{r.Layer, r.Index})
			require.Equal(t, end, r.Offset)
			end = r.Offset + r.Stride(s.man.Align)
		}
		require.Len(t, contents(t, one)[layout.ExpertsName], int(end))
		require.Greater(t, len(s.man.Dense), c.layers+3, "runs of the head")
		for _, r := range s.man.Dense[c.layers+1:] {
			require.LessOrEqual(t, r.Length, max(s.man.Dense[0].Length, 64<<10), "a run of the head is no larger than a layer")
		}
		c.check(t, s)
	}
}

// U09: the same weights under other names are the same package; what is
// unmatched is named, with the nearest name.
func TestSpellings(t *testing.T) {
	t.Parallel()
	c := smallToy()
	want, _ := packed(t, c.write(t), options(t, "w4"))
	for _, s := range []string{"stacked", "fused", "fused each"} {
		c.spelling = s
		t.Run("U09 "+s, func(t *testing.T) {
			got, _ := packed(t, c.write(t), options(t, "w4"))
			requireSameWeights(t, want, got)
		})
	}
	for name, tc := range map[string]struct {
		change func(map[string]checkpointtest.Tensor)
		want   string
	}{
		"unused": {func(ts map[string]checkpointtest.Tensor) { ts["lm_head.bias"] = checkpointtest.F32([]int{1}, 0) },
			`: models: the checkpoint of architecture OlmoeForCausalLM: nothing reads tensor "lm_head.bias" (nearest: "lm_head.weight")`},
		"another name": {func(ts map[string]checkpointtest.Tensor) {
			const at = "model.layers.1.mlp.experts.3."
			ts[at+"w1.weight"] = ts[at+"up_proj.weight"]
			delete(ts, at+"up_proj.weight")
		}, `: models: the checkpoint of architecture OlmoeForCausalLM has no tensor "model.layers.1.mlp.experts.3.up_proj.weight"; ` +
			`nothing reads tensor "model.layers.1.mlp.experts.3.w1.weight" (nearest: "model.layers.1.mlp.experts.3.up_proj.weight")`},
	} {
		c := smallToy()
		c.change = tc.change
		from := c.write(t)
		requireRefused(t, from, "checkpoint "+from+tc.want, "U09 "+name)
	}
}

// requireSameWeights checks that packages are the same but for where they come from.
func requireSameWeights(t *testing.T, want, got string) {
	t.Helper()
	a, b := contents(t, want), contents(t, got)
	for _, files := range []map[string]string{a, b} {
		m, err := layout.Decode([]byte(files[layout.ManifestName]))
		require.NoError(t, err)
		m.Provenance = nil
		data, err := layout.Encode(m)
		require.NoError(t, err)
		files[layout.ManifestName] = string(data)
	}
	require.Equal(t, slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	for name := range a {
		require.True(t, a[name] == b[name], "%s of %s and %s differ", name, want, got)
	}
}

// requireRefused checks that packing is refused and leaves nothing.
func requireRefused(t *testing.T, from, want, name string) {
	t.Helper()
	parent := t.TempDir()
	_, err := Run(t.Context(), from, filepath.Join(parent, "pkg"), options(t, "w4"))
	require.EqualError(t, err, want, name)
	requireOnly(t, parent)
}

// U04: config {tied, untied, silent} x {a head, none, the same head}.
func TestTied(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tied, head, note, err string }{
		{"true", "none", "", ""},
		{"true", "equal", "tie_word_embeddings is true, and lm_head.weight equals model.embed_tokens.weight: lm_head.weight is used for the head", ""},
		{"true", "own", "tie_word_embeddings is true, but lm_head.weight differs from model.embed_tokens.weight: lm_head.weight is used for the head", ""},
		{"false", "own", "", ""},
		{"false", "none", "", `: models: the checkpoint of architecture OlmoeForCausalLM has no tensor "lm_head.weight" (tie_word_embeddings is false)`},
		{"", "own", "config.json has no tie_word_embeddings: the head is lm_head.weight", ""},
		{"", "none", "config.json has no tie_word_embeddings, and the checkpoint no head: the head is the embedding", ""},
	} {
		c := smallToy()
		c.tied, c.head = tc.tied, tc.head
		from := c.write(t)
		name := fmt.Sprintf("U04 tied %q, head %s", tc.tied, tc.head)
		if tc.err != "" {
			requireRefused(t, from, "checkpoint "+from+tc.err, name)
			continue
		}
		dir, report := packed(t, from, options(t, "w8"))
		s := load(t, dir, hostPacking())
		c.check(t, s)
		var notes []string
		for _, kv := range s.man.Provenance {
			if kv.Key == "note" {
				notes = append(notes, kv.Value)
			}
		}
		require.Equal(t, report.Notes, notes, name)
		if tc.note == "" {
			require.Empty(t, notes, name)
		} else {
			require.Equal(t, []string{tc.note}, notes, name)
		}
	}
}

// U17: rows past the last token are left out, and fewer are refused.
func TestRowsAndTokens(t *testing.T) {
	t.Parallel()
	c := smallToy()
	want, _ := packed(t, c.write(t), options(t, "w4"))
	c.padding = 32
	got, report := packed(t, c.write(t), options(t, "w4"))
	require.Equal(t, []string{
		`tensor "model.embed_tokens.weight" has 128 rows for 96 tokens: the rest is padding and is left out`,
		`tensor "lm_head.weight" has 128 rows for 96 tokens: the rest is padding and is left out`,
	}, report.Notes)
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		require.True(t, contents(t, want)[name] == contents(t, got)[name], name)
	}
	require.Len(t, logits(t, got, 5), 96, "U17 more rows")

	c.padding = -1
	from := c.write(t)
	requireRefused(t, from, "checkpoint "+from+`: models: the checkpoint of architecture OlmoeForCausalLM: `+
		`tensor "model.embed_tokens.weight" is [95 64], want [96 64] (vocab_size, hidden_size), tensor "lm_head.weight" is [95 64], want [96 64] (vocab_size, hidden_size)`, "U17 fewer rows")
}

// logits runs the last of a package's tokens.
func logits(t *testing.T, dir string, ids ...int32) []float32 {
	t.Helper()
	m, err := runtime.Open(t.Context(), dir, runtime.Options{Packings: lowertest.NewNPU().Packings()})
	require.NoError(t, err)
	defer m.Close()
	res, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{ids}, Logits: runtime.Last})
	require.NoError(t, err)
	return res.Logits
}

// A package of any alignment that packing takes runs, the same.
func TestAlignsRun(t *testing.T) {
	c := smallToy()
	c.layers, c.experts = 1, 2
	from := c.write(t)
	var want []float32
	for align := int64(4 << 10); layout.AlignRule(align) == ""; align *= 4 {
		o := options(t, "w4")
		o.Align = align
		dir, _ := packed(t, from, o)
		got := logits(t, dir, 3, 1, 4)
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "aligned to %d", align)
	}
}

// Shapes that fit no panel, no group and no block of codes; U14's fallback is
// told and recorded.
func TestOddShapes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]toy{
		"U14 rows that are no groups": {hidden: 40, inner: 24, vocab: 50, layers: 2, experts: 3, perToken: 2},
		"one expert":                  {hidden: 64, inner: 32, vocab: 64, layers: 1, experts: 1, perToken: 1},
		"less than a panel and token": {hidden: 8, inner: 4, vocab: 3, layers: 1, experts: 2, perToken: 2},
		"groups of one kind only":     {hidden: 96, inner: 40, vocab: 33, layers: 2, experts: 5, perToken: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.spelling, c.tied, c.head = "each", "false", "own"
			from := c.write(t)
			plain, _ := packed(t, from, options(t, "f32"))
			want := logits(t, plain, 1, 2, 0)
			for _, e := range []string{"w4", "w8", "w4full", "bf16"} {
				dir, report := packed(t, from, options(t, e))
				s := load(t, dir, hostPacking())
				c.check(t, s)
				require.Equal(t, report.Policy, s.man.Policy)
				got := logits(t, dir, 1, 2, 0)
				require.Len(t, got, c.vocab)
				require.InDeltaSlice(t, want, got, 0.3, e)
				for weight, k := range map[string]int{"expert.gate.weight": c.hidden, "expert.down.weight": c.inner} {
					if d := options(t, e).Encoding.Experts; quant.Fit(d, k) != d {
						require.Contains(t, policyOf(report, weight), fmt.Sprintf("%s: matrix of experts, rows of %d values are no whole groups of %s", quant.Fit(d, k), k, d))
					}
				}
			}
		})
	}
}

func policyOf(r *Report, weight string) string {
	for _, kv := range r.Policy {
		if kv.Key == weight {
			return kv.Value
		}
	}
	return ""
}

// A weight that is no number is found where it is, in every kind of record.
func TestWeightsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	for tensor, want := range map[string]string{
		"model.layers.1.mlp.experts.2.down_proj.weight": "weight expert.down.weight of layer 1, expert 2: quant: weight [0,0] is NaN",
		"model.layers.0.self_attn.q_proj.weight":        "weight attn.q.weight of layer 0, expert 0: quant: weight [0,0] is NaN",
		"lm_head.weight":                                "weight head.weight of layer 0, expert 0: quant: weight [0,0] is NaN",
		"model.embed_tokens.weight":                     "embeddings from row 0: quant: weight [0,0] is NaN",
		"model.norm.weight":                             "weight final.norm.weight of layer 2: quant: weight [0,0] is NaN",
	} {
		c := smallToy()
		c.change = func(ts map[string]checkpointtest.Tensor) { copy(ts[tensor].Data, []byte{0xc0, 0x7f}) }
		o := options(t, "w4")
		o.Workers = 1
		_, err := Run(t.Context(), c.write(t), filepath.Join(t.TempDir(), "pkg"), o)
		require.ErrorContains(t, err, want, tensor)
	}
}
