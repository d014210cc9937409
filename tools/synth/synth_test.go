package synth_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/pack"
	"estream/tools/synth"
)

const tiny = "../../testdata/olmoe/config.json"

func options(t testing.TB, encoding string) pack.Options {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	return pack.Options{Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0], Families: all.Families()}
}

// edited writes the tiny config.json with changes made to its text.
func edited(t testing.TB, oldnew ...string) string {
	t.Helper()
	text, err := os.ReadFile(tiny)
	require.NoError(t, err)
	for i := 0; i < len(oldnew); i += 2 {
		require.Contains(t, string(text), oldnew[i])
	}
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer(oldnew...).Replace(string(text))), 0o666))
	return path
}

// Every encoding's package verifies and runs: logits are finite and about 1.
func TestPackage(t *testing.T) {
	for _, e := range pack.Encodings {
		t.Run(e.Name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "p")
			report, err := synth.Package(t.Context(), tiny, dir, 1, options(t, e.Name))
			require.NoError(t, err)
			require.Equal(t, "olmoe", report.Family)
			pkg, err := layout.Open(dir)
			require.NoError(t, err)
			require.NoError(t, layout.Verify(t.Context(), pkg, nil))
			require.Contains(t, pkg.Manifest.Provenance, layout.KeyValue{Key: "source", Value: "synthetic: random weights, nothing was trained"})
			require.Contains(t, pkg.Manifest.Provenance, layout.KeyValue{Key: "seed", Value: "1"})
			sum := 0.0
			logits := run(t, dir, runtime.Options{}, 24).Logits
			for _, x := range logits {
				sum += float64(x) * float64(x)
			}
			if rms := math.Sqrt(sum / float64(len(logits))); !(rms > 0.3 && rms < 3) {
				t.Errorf("logits have size %v, want about 1", rms)
			}
		})
	}
}

// run runs random tokens through a package.
func run(t testing.TB, dir string, o runtime.Options, tokens int) *runtime.Result {
	t.Helper()
	m, err := runtime.Open(t.Context(), dir, o)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	r, ids := rand.New(rand.NewPCG(1, 1)), make([]int32, tokens)
	for i := range ids {
		ids[i] = int32(r.IntN(m.Vocab()))
	}
	res, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{ids}, Logits: runtime.All})
	require.NoError(t, err)
	return res
}

// Many layers deep, random tokens still reach all experts, none of them far more
// often than the mean.
func TestRouting(t *testing.T) {
	config := edited(t, `"num_hidden_layers": 3`, `"num_hidden_layers": 16`, `"num_experts": 8`, `"num_experts": 32`, `"num_experts_per_tok": 3`, `"num_experts_per_tok": 4`)
	dir := filepath.Join(t.TempDir(), "p")
	_, err := synth.Package(t.Context(), config, dir, 1, options(t, "w4"))
	require.NoError(t, err)
	const tokens, experts, active = 512, 32, 4
	layers := 0
	run(t, dir, runtime.Options{Taps: []string{"experts.ids"}, Tap: func(x runtime.Tap) {
		layers++
		var count [experts]int
		for _, e := range lower.I32(x.Buffer.Bytes()) {
			count[e]++
		}
		for e, n := range count {
			if n == 0 || n > 6*tokens*active/experts {
				t.Errorf("layer %d, expert %d: %d of %d tokens, want 1 to %d", x.Layer, e, n, tokens, 6*tokens*active/experts)
			}
		}
	}}, tokens)
	require.Equal(t, 16, layers)
}

// The bytes follow from config, seed and encoding alone.
func TestDeterministic(t *testing.T) {
	made := func(seed uint64, workers int) string {
		dir, o := filepath.Join(t.TempDir(), "p"), options(t, "w4")
		o.Workers = workers
		_, err := synth.Package(t.Context(), tiny, dir, seed, o)
		require.NoError(t, err)
		var all strings.Builder
		for _, name := range []string{layout.ManifestName, layout.ExpertsName, layout.DenseName} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			all.Write(data)
		}
		return all.String()
	}
	first := made(1, 1)
	require.True(t, first == made(1, 3), "1 and 3 workers give different packages")
	require.False(t, first == made(2, 1), "seeds 1 and 2 give the same package")
}

func TestRefused(t *testing.T) {
	taken := t.TempDir()
	huge := edited(t, `"hidden_size": 64`, `"hidden_size": 65536`, `"intermediate_size": 32`, `"intermediate_size": 65536`,
		`"num_hidden_layers": 3`, `"num_hidden_layers": 4`, `"num_experts": 8`, `"num_experts": 512`) // 13 TB in w4
	for _, c := range []struct{ name, config, dir, want string }{
		{"no file", "no/config.json", "p", "no/config.json: no such file"},
		{"unknown architecture", edited(t, "OlmoeForCausalLM", "GPT5ForCausalLM"), "p", `unknown architecture "GPT5ForCausalLM"`},
		{"no architecture", edited(t, `"OlmoeForCausalLM"`, ""), "p", "architectures is not there"},
		{"unknown setting", edited(t, `"clip_qkv"`, `"warp_drive": 3, "clip_qkv"`), "p", "warp_drive"},
		{"no space", huge, "p", "are free"},
		{"there already", tiny, taken, "it is there already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for what, make := range map[string]func(dir string) error{
				"package": func(dir string) error {
					_, err := synth.Package(t.Context(), c.config, dir, 1, options(t, "w4"))
					return err
				},
				"checkpoint": func(dir string) error {
					_, err := synth.Checkpoint(t.Context(), c.config, dir, synth.CheckpointOptions{Families: all.Families()})
					return err
				},
			} {
				dir := c.dir
				if !filepath.IsAbs(dir) {
					dir = filepath.Join(t.TempDir(), dir)
				}
				require.ErrorContains(t, make(dir), c.want, what)
				require.NoDirExists(t, dir+".partial", what)
			}
		})
	}
}

// A checkpoint in one file or several is read as any, the values are the same,
// and it packs.
func TestCheckpoint(t *testing.T) {
	folder := t.TempDir()
	var values [2][]float32
	for i, c := range []struct {
		name   string
		shard  int64
		shards int
	}{{"one", 0, 1}, {"several", 100_000, 5}} {
		dir := filepath.Join(folder, c.name)
		report, err := synth.Checkpoint(t.Context(), tiny, dir, synth.CheckpointOptions{Seed: 1, Families: all.Families(), Shard: c.shard})
		require.NoError(t, err)
		require.Equal(t, c.shards, report.Shards, c.name)
		ck, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
		require.NoError(t, err)
		defer ck.Close()
		require.Len(t, ck.Tensors(), report.Tensors)
		values[i] = make([]float32, 64*64)
		require.NoError(t, ck.Read(t.Context(), "model.layers.2.self_attn.o_proj.weight", 0, 64, values[i]))
		_, err = pack.Run(t.Context(), dir, dir+".estream", func() pack.Options {
			o := options(t, "w4")
			o.Formats = []checkpoint.Format{checkpoint.SafeTensors}
			return o
		}())
		require.NoError(t, err)
		run(t, dir+".estream", runtime.Options{}, 24)
	}
	require.Equal(t, values[0], values[1])
	sum := 0.0
	for _, x := range values[0] {
		sum += float64(x) * float64(x)
	}
	require.InDelta(t, 1.0/64, sum/float64(len(values[0])), 0.1/64, "mean square of a map from 64 values")
}

// A tied model has no head of its own.
func TestCheckpointTied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	config := edited(t, `"tie_word_embeddings": false`, `"tie_word_embeddings": true`)
	_, err := synth.Checkpoint(t.Context(), config, dir, synth.CheckpointOptions{Families: all.Families()})
	require.NoError(t, err)
	ck, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer ck.Close()
	for _, x := range ck.Tensors() {
		require.NotEqual(t, "lm_head.weight", x.Name)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "p")
	_, err := synth.Package(ctx, tiny, dir, 1, options(t, "w4"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = synth.Checkpoint(ctx, tiny, dir, synth.CheckpointOptions{Families: all.Families()})
	require.ErrorIs(t, err, context.Canceled)
	entries, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Empty(t, entries)
}
