package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/tools/check"
	"estream/tools/pack"
)

const (
	tiny    = "../../testdata/olmoe/"
	goldens = tiny + "goldens.safetensors"
)

// packed packs a checkpoint.
func packed(t testing.TB, from, encoding string) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	if encoding == "bf16" {
		e.Experts, e.Attention, e.Head, e.Embed = ir.Invalid, ir.Invalid, ir.Invalid, ir.Invalid // as the checkpoint is
	}
	dir := filepath.Join(t.TempDir(), "p")
	_, err = pack.Run(t.Context(), from, dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

// A broken checkpoint is the tiny one with tensors renamed or text of config.json
// replaced.
type broken struct{ rename, config map[string]string }

func (b broken) write(t testing.TB) string {
	t.Helper()
	ck, err := checkpoint.Open(tiny, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer ck.Close()
	dir, tensors := t.TempDir(), map[string]checkpointtest.Tensor{}
	for _, x := range ck.Tensors() {
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		values := make([]float32, n)
		require.NoError(t, ck.Read(t.Context(), x.Name, 0, x.Shape[0], values))
		name := x.Name
		if to := b.rename[name]; to != "" {
			name = to
		}
		tensors[name] = checkpointtest.F32(x.Shape, values...)
	}
	require.NoError(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors))
	config, err := ck.Config()
	require.NoError(t, err)
	text := string(config)
	for old, with := range b.config {
		require.Contains(t, text, old)
		text = strings.ReplaceAll(text, old, with)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o666))
	return dir
}

func swapped(a, b string) map[string]string { return map[string]string{a: b, b: a} }

func run(t testing.TB, dir string, o check.Options) *check.Report {
	t.Helper()
	r, err := check.Run(t.Context(), dir, goldens, o)
	require.NoError(t, err)
	return r
}

// requireFirst compares what a report says is wrong first.
func requireFirst(t testing.TB, r *check.Report, golden string, v check.Verdict) {
	t.Helper()
	got := "nothing"
	if r.First >= 0 {
		got = r.Rows[r.First].Golden
	}
	require.Equal(t, []string{golden, string(v)}, []string{got, string(r.Verdict)})
}

func TestAgrees(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for _, c := range []struct {
		prompt string
		values int
	}{{"", 21}, {"p33", 21}, {"batch", 1}, {"p1", 1}} {
		r := run(t, dir, check.Options{Prompt: c.prompt})
		requireFirst(t, r, "nothing", check.Agrees)
		require.Len(t, r.Rows, c.values, "prompt %q", c.prompt)
		require.Empty(t, r.Failed)
		for _, row := range r.Rows {
			require.Less(t, float64(row.Ours.Abs), 1e-5, row.Golden)
			require.Less(t, float64(row.Interp.Abs), 1e-5, row.Golden)
			require.Less(t, float64(row.Apart.Abs), 1e-5, row.Golden)
		}
	}
	r := run(t, dir, check.Options{})
	require.Equal(t, "p33", r.Prompt)
	require.Equal(t, []string{"logits_bf16_weights"}, r.Skipped)
	require.Equal(t, check.Row{Layer: -1, Golden: "embed", Value: "embed", Graph: "embed"}, bare(r.Rows[0]))
	require.Equal(t, check.Row{Layer: 0, Golden: "mixer_out.0", Value: "attn.o", Graph: "c0.body"}, bare(r.Rows[1]))
	require.Equal(t, check.Row{Layer: 3, Golden: "logits", Value: "logits", Graph: "head.proj"}, bare(r.Rows[20]))
}

// bare is what of a row does not depend on rounding.
func bare(r check.Row) check.Row {
	return check.Row{Layer: r.Layer, Golden: r.Golden, Value: r.Value, Graph: r.Graph, Over: r.Over}
}

// A bf16 checkpoint has goldens of its own, which the caller names.
func TestNames(t *testing.T) {
	dir := packed(t, tiny+"model.bf16.safetensors", "bf16")
	r := run(t, dir, check.Options{Names: []check.Name{{Golden: "logits_bf16_weights", Values: []string{"no.such", "logits"}}}})
	requireFirst(t, r, "nothing", check.Agrees)
	require.Len(t, r.Rows, 1)
	require.Contains(t, r.Skipped, "layer_out.2")
}

// What a family may get wrong is found where it begins, and blamed on the graph.
func TestGraphWrong(t *testing.T) {
	const layer1 = "model.layers.1."
	for _, c := range []struct {
		name  string
		b     broken
		first string
	}{
		{"swapped norms", broken{rename: swapped(layer1+"input_layernorm.weight", layer1+"post_attention_layernorm.weight")}, "mixer_out.1"},
		{"swapped q and k", broken{rename: swapped("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight")}, "mixer_out.0"},
		{"swapped gate and up", broken{rename: swapped(layer1+"mlp.experts.3.gate_proj.weight", layer1+"mlp.experts.3.up_proj.weight")}, "ffn_out.1"},
		{"swapped routers", broken{rename: swapped("model.layers.2.mlp.gate.weight", layer1+"mlp.gate.weight")}, "router_logits.1"},
		{"rope theta", broken{config: map[string]string{`"rope_theta": 10000.0`: `"rope_theta": 500000.0`}}, "mixer_out.0"},
		{"weights of experts", broken{config: map[string]string{`"norm_topk_prob": false`: `"norm_topk_prob": true`}}, "topk_weights.0"},
		{"eps", broken{config: map[string]string{`"rms_norm_eps": 1e-05`: `"rms_norm_eps": 1e-01`}}, "mixer_out.0"},
		{"head", broken{rename: swapped("lm_head.weight", "model.embed_tokens.weight")}, "embed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requireFirst(t, run(t, packed(t, c.b.write(t), "f32"), check.Options{}), c.first, check.Graph)
		})
	}
}

// The worst element is shown in all three.
func TestWorst(t *testing.T) {
	b := broken{config: map[string]string{`"rope_theta": 10000.0`: `"rope_theta": 500000.0`}}
	r := run(t, packed(t, b.write(t), "f32"), check.Options{})
	w := r.Rows[r.First].Worst
	require.Len(t, w.Index, 2) // of [33,64]
	require.InDelta(t, float64(*w.Ours), float64(*w.Interp), 1e-5)
	require.InDelta(t, float64(r.Rows[r.First].Ours.Abs), max(float64(*w.Ours-w.Golden), float64(w.Golden-*w.Ours)), 1e-9)
}

// A program that computes something else than its graph is blamed on the backend.
func TestBackendWrong(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for _, c := range []struct{ graph, output, first string }{
		{"embed", "embed", "embed"},
		{"c0.route", "experts.weights", "topk_weights.0"},
		{"c0.tail", "y", "layer_out.0"},
		{"expert0", "", "ffn_out.0"},
		{"head.norm", "final.norm", "final_norm"},
		{"head.proj", "logits", "logits"},
	} {
		o := check.Options{}
		o.Runtime.Host = faulty{Backend: host.New(host.Options{}), graph: c.graph, output: c.output}
		requireFirst(t, run(t, dir, o), c.first, check.Backend)
	}
}

func TestInterpreterWrong(t *testing.T) {
	table := interp.Core()
	table[ir.SiLU] = table[ir.Sigmoid]
	requireFirst(t, run(t, packed(t, tiny, "f32"), check.Options{Interp: table}), "ffn_out.0", check.Interpreter)
}

// A run that fails is compared as far as it came.
func TestFailed(t *testing.T) {
	dir, o := packed(t, tiny, "f32"), check.Options{}
	o.Runtime.Host = faulty{Backend: host.New(host.Options{}), graph: "c0.tail", err: errors.New("out of order")}
	r := run(t, dir, o)
	requireFirst(t, r, "nothing", check.Incomplete)
	require.Len(t, r.Failed, 1)
	require.Contains(t, r.Failed[0], "out of order")
	require.Len(t, r.Rows, 21)
	require.NotNil(t, r.Rows[0].Ours)
	require.Nil(t, r.Rows[20].Ours)
	require.NotNil(t, r.Rows[20].Interp)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), `"ours":null`)

	o = check.Options{Interp: interp.Core()}
	delete(o.Interp, ir.Softmax)
	r = run(t, dir, o)
	requireFirst(t, r, "nothing", check.Incomplete)
	require.Contains(t, r.Failed[0], "softmax")
	require.Nil(t, r.Rows[20].Interp)
}

// Codes, scales and factors are unpacked as the programs read them: ours and the
// interpreter's differ by no more than rounded activations explain.
func TestEncoded(t *testing.T) {
	for _, e := range []string{"w8", "w4g32", "w4full"} {
		dir := packed(t, tiny, e)
		_, err := check.Run(t.Context(), dir, goldens, check.Options{})
		require.ErrorIs(t, err, check.ErrTolerance, e)
		r := run(t, dir, check.Options{Tolerance: 1})
		require.True(t, r.Encoded)
		for _, row := range r.Rows[:3] {
			require.Less(t, float64(row.Apart.Rel), 0.03, "%s: %s", e, row.Golden)
		}
		r = run(t, dir, check.Options{Tolerance: 1, Prompt: "p1"}) // whose routing does not turn on a rounding
		require.Less(t, float64(r.Rows[0].Apart.Rel), 0.05, "%s: logits", e)
	}
}

func TestErrors(t *testing.T) {
	dir, other := packed(t, tiny, "f32"), filepath.Join(t.TempDir(), "g.safetensors")
	require.NoError(t, checkpointtest.Write(other, map[string]checkpointtest.Tensor{
		"short.input_ids": i32(2, 1, 2), "short.logits": checkpointtest.F32([]int{3}, 1, 2, 3),
		"alien.input_ids": i32(2, 1, 2), "alien.dream": checkpointtest.F32([]int{1}, 1), "alien.layer_out.3": checkpointtest.F32([]int{1}, 1),
		"wild.input_ids": i32(2, 1, 160), "wild.logits": checkpointtest.F32([]int{320}, make([]float32, 320)...),
		"mute.logits":  checkpointtest.F32([]int{1}, 1),
		"empty.logits": checkpointtest.F32([]int{0}), "empty.input_ids": i32(2, 1, 2),
	}))
	for _, c := range []struct{ dir, golden, prompt, want string }{
		{dir, "no.safetensors", "", "no such file"},
		{dir, goldens, "p34", `no tensor p34.input_ids: the prompts are ["batch" "p1" "p33" "p7" "ragged0" "ragged1" "ragged2"]`},
		{dir, other, "mute", "no tensor mute.input_ids"},
		{dir, other, "short", "tensor short.logits is [3], and logits has 320 elements"},
		{dir, other, "empty", "tensor empty.logits has no elements"},
		{dir, other, "alien", "no value of prompt alien is one of the package: it has [dream layer_out.3]"},
		{tiny, goldens, "", "make a package with estream pack"},
	} {
		_, err := check.Run(t.Context(), c.dir, c.golden, check.Options{Prompt: c.prompt})
		require.ErrorContains(t, err, c.want, "golden %s, prompt %q", c.golden, c.prompt)
	}
	r, err := check.Run(t.Context(), dir, other, check.Options{Prompt: "wild"})
	require.NoError(t, err)
	require.Empty(t, r.Rows)
	require.Equal(t, check.Incomplete, r.Verdict)
	require.Len(t, r.Failed, 2, "an id that is not in the vocabulary")
}

func i32(n int, ids ...byte) checkpointtest.Tensor {
	var data []byte
	for _, id := range ids {
		data = append(data, id, 0, 0, 0)
	}
	return checkpointtest.Tensor{DType: "I32", Shape: []int{1, n}, Data: data}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := check.Run(ctx, packed(t, tiny, "f32"), goldens, check.Options{})
	require.ErrorIs(t, err, context.Canceled)
}
