package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

const (
	shard1 = "model-00001-of-00002.safetensors"
	shard2 = "model-00002-of-00002.safetensors"
	index  = "model.safetensors.index.json"
	where  = `: models: the checkpoint of architecture OlmoeForCausalLM`
	remedy = "use the model as published in bf16, or one in FP8 with its scales, or a GGUF file of it"
)

// What users of such tools found wrong, by its number: each is refused before
// anything is written, in these words.
func TestFieldRefused(t *testing.T) {
	t.Parallel()
	const q = "model.layers.0.self_attn.q_proj.weight"
	typed := func(name string, dtype checkpoint.DType, size int) func(t *testing.T, dir string) {
		return tensors(func(ts map[string]checkpointtest.Tensor) {
			ts[name] = checkpointtest.Tensor{DType: dtype, Shape: ts[name].Shape, Data: ts[name].Data[:size]}
		})
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string // DIR is the checkpoint
	}{
		{"U01 a shard that is absent", func(t *testing.T, dir string) { shard(t, dir); require.NoError(t, os.Remove(at(dir, shard1))) },
			"DIR/" + index + ": 1 of 2 shards missing: " + shard1 + " (lm_head.weight); download them again: incomplete download"},
		{"U02 shards of another name", func(t *testing.T, dir string) {
			shard(t, dir)
			require.NoError(t, os.Rename(at(dir, shard1), at(dir, "a-00001-of-00002.safetensors")))
			require.NoError(t, os.Rename(at(dir, shard2), at(dir, "a-00002-of-00002.safetensors")))
		}, "DIR/" + index + ": names shards that are not here (" + shard1 + ", " + shard2 + "), but those here hold all its 45 tensors; estream pack --ignore-index reads them: index stale, shard headers complete"},
		{"U02 a tensor that no shard holds", func(t *testing.T, dir string) {
			shard(t, dir)
			require.NoError(t, checkpointtest.WriteIndex(dir, map[string]string{"lm_head.weight": shard1, "lm_head.bias": shard1}))
		}, "DIR/" + index + ": names 1 of 2 tensors that no shard holds: lm_head.bias; download the index and shards of one revision: tensor absent"},
		{"U03 a length of 2^63", edit("model.safetensors", func(b []byte) []byte { return append([]byte{0, 0, 0, 0, 0, 0, 0, 0x80}, b[8:]...) }),
			"DIR/model.safetensors: header length: 9223372036854775808 bytes, want at most 100000000"},
		{"U03 a tensor twice", edit("model.safetensors", func(b []byte) []byte { return bytes.Replace(b, []byte("k_norm.weight"), []byte("q_norm.weight"), 1) }),
			`DIR/model.safetensors: duplicate key: "model.layers.0.self_attn.q_norm.weight"`},
		{"U06 codes without scales", typed(q, "F8_E4M3", 64*64), `checkpoint DIR` + where + `: tensor "` + q + `" is F8_E4M3: codes, whose scales are not applied; ` + remedy},
		{"U07 F8_E5M2", typed(q, "F8_E5M2", 64*64), `checkpoint DIR` + where + `: tensor "` + q + `" is F8_E5M2: codes, whose scales are not applied; ` + remedy},
		{"U07 F4", typed(q, "F4", 64*32), `checkpoint DIR` + where + `: tensor "` + q + `" is F4: codes, whose scales are not applied; ` + remedy},
		{"U07 AWQ", tensors(func(ts map[string]checkpointtest.Tensor) {
			ts["model.layers.0.self_attn.q_proj.qweight"] = ts[q]
			delete(ts, q)
		}), `checkpoint DIR: its weights are quantized by GPTQ or AWQ (tensor "model.layers.0.self_attn.q_proj.qweight"), which is not read: ` + remedy},
		{"U10 another name", tensors(func(ts map[string]checkpointtest.Tensor) {
			ts["model.final_norm.weight"] = ts["model.norm.weight"]
			delete(ts, "model.norm.weight")
		}), `checkpoint DIR` + where + ` has no tensor "model.norm.weight"; nothing reads tensor "model.final_norm.weight" (nearest: "model.norm.weight")`},
		{"U12 cut at half", edit("model.safetensors", func(b []byte) []byte { return b[:len(b)/2] }),
			"DIR/model.safetensors: cut file: HALF bytes, want WHOLE: incomplete download or copy"},
		{"U39 a shard elsewhere", func(t *testing.T, dir string) {
			require.NoError(t, checkpointtest.WriteIndex(dir, map[string]string{"a": "../x.safetensors"}))
		}, `checkpoint DIR: file "../x.safetensors": outside the checkpoint`},
		{"U39 a link out", func(t *testing.T, dir string) {
			out := at(t.TempDir(), "x")
			require.NoError(t, os.Rename(at(dir, "model.safetensors"), out))
			require.NoError(t, os.Symlink(out, at(dir, "model.safetensors")))
		}, "DIR/model.safetensors: a link to OUT; copy the file itself into the folder: outside the checkpoint"},
		{"U40 a billion layers", setting("num_hidden_layers", 1000000000), "checkpoint DIR: models: config.json: num_hidden_layers is 1000000000: want a whole number from 1 to 4096"},
		{"U40 no experts", setting("num_experts", 0), "checkpoint DIR: models: config.json: num_experts is 0: want a whole number from 1 to 4096"},
		{"U40 more experts a token than there are", setting("num_experts_per_tok", 5), "checkpoint DIR: models: config.json: num_experts_per_tok is 5: want a whole number from 1 to the number of experts, 4"},
		{"U40 a negative size", setting("hidden_size", -64), "checkpoint DIR: models: config.json: hidden_size is -64: want a whole number from 1 to 65536"},
		{"U40 half a size", setting("intermediate_size", 32.5), "checkpoint DIR: models: config.json: intermediate_size is 32.5: want a whole number from 1 to 1048576"},
		{"U40 10 MB of nesting", edit("config.json", func([]byte) []byte { return bytes.Repeat([]byte("["), 10<<20) }), "checkpoint DIR: models: config.json: 10485760 bytes, more than 1048576"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, parent := smallToy().write(t), t.TempDir()
			whole, err := os.Stat(at(dir, "model.safetensors"))
			require.NoError(t, err)
			c.spoil(t, dir)
			_, err = Run(t.Context(), dir, at(parent, "pkg"), options(t, "w4"))
			require.Error(t, err)
			out, _ := os.Readlink(at(dir, "model.safetensors"))
			want := strings.NewReplacer("DIR", dir, "OUT", out, "HALF", fmt.Sprint(whole.Size()/2), "WHOLE", fmt.Sprint(whole.Size())).Replace(c.want)
			require.EqualError(t, err, want)
			requireOnly(t, parent)
		})
	}
}

// What is not refused is read as if it were not there.
func TestFieldTaken(t *testing.T) {
	t.Parallel()
	want, _ := packed(t, smallToy().write(t), options(t, "w4"))
	for name, change := range map[string]func(t *testing.T, dir string) Options{
		"U02 shards of another name, without the index": func(t *testing.T, dir string) Options {
			shard(t, dir)
			require.NoError(t, os.Rename(at(dir, shard1), at(dir, "a-00001-of-00002.safetensors")))
			require.NoError(t, os.Rename(at(dir, shard2), at(dir, "a-00002-of-00002.safetensors")))
			o := options(t, "w4")
			o.IgnoreIndex = true
			return o
		},
		"U07 scales of activations": func(t *testing.T, dir string) Options {
			tensors(func(ts map[string]checkpointtest.Tensor) {
				ts["model.layers.0.mlp.experts.0.up_proj.input_scale"] = checkpointtest.F32(nil, 1)
			})(t, dir)
			return options(t, "w4")
		},
		"U42 other weights beside": func(t *testing.T, dir string) Options {
			for _, other := range []string{"adapter_model.safetensors", "goldens.safetensors", "model.fp16.safetensors"} {
				require.NoError(t, os.WriteFile(at(dir, other), []byte("broken"), 0o666))
			}
			return options(t, "w4")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := smallToy().write(t)
			o := change(t, dir)
			got, _ := packed(t, dir, o)
			require.Equal(t, sums(t, want), sums(t, got))
		})
	}
}

// The router is no matrix to round, in any encoding.
func TestRouterStaysExact(t *testing.T) {
	t.Parallel()
	for _, e := range Encodings {
		_, r := packed(t, "../../testdata/lfm2", options(t, e.Name))
		require.Contains(t, policyOf(r, "ffn.router.weight"), "f32: router, exact", "U20 %s", e.Name)
	}
}

func at(dir, name string) string { return filepath.Join(dir, name) }

// edit changes the bytes of a file.
func edit(name string, change func([]byte) []byte) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		data, err := os.ReadFile(at(dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(at(dir, name), change(data), 0o666))
	}
}

// setting changes a key of config.json.
func setting(key string, value any) func(t *testing.T, dir string) {
	config := smallToy().config()
	config[key] = value
	return edit("config.json", func([]byte) []byte { data, _ := json.Marshal(config); return data })
}

// tensors changes the tensors.
func tensors(change func(map[string]checkpointtest.Tensor)) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		ts := smallToy().tensors()
		change(ts)
		require.NoError(t, checkpointtest.Write(at(dir, "model.safetensors"), ts))
	}
}

// shard puts the tensors into two files and an index.
func shard(t *testing.T, dir string) {
	t.Helper()
	rest := smallToy().tensors()
	head := map[string]checkpointtest.Tensor{"lm_head.weight": rest["lm_head.weight"]}
	delete(rest, "lm_head.weight")
	require.NoError(t, os.Remove(at(dir, "model.safetensors")))
	_, err := checkpointtest.WriteShards(dir, head, maps.Clone(rest))
	require.NoError(t, err)
}
