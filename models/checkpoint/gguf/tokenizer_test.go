package gguf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/runtime/tokenizer"
)

const tokenizers = "../../../runtime/tokenizer/testdata/"

// published is what these tests read of a tokenizer.json.
type published struct {
	Model struct {
		Vocab  map[string]int
		Merges []any
	}
	Added []struct {
		ID      int
		Content string
		Special bool
	} `json:"added_tokens"`
}

// pairsOf returns the metadata that llama.cpp's converter makes of a tokenizer.json.
func pairsOf(t testing.TB, name, model, pre string, bos bool) []pair {
	t.Helper()
	text, err := os.ReadFile(tokenizers + name + ".tokenizer.json")
	require.NoError(t, err)
	var p published
	require.NoError(t, json.Unmarshal(text, &p))
	size := len(p.Model.Vocab)
	for _, a := range p.Added {
		size = max(size, a.ID+1)
	}
	tokens, types, scores := make([]string, size+2), make([]int32, size+2), make([]float32, size+2)
	for i := range tokens {
		tokens[i], types[i], scores[i] = "[PAD"+string(rune('A'+i%26))+"]", 5, -float32(i)
	}
	for token, id := range p.Model.Vocab {
		tokens[id], types[id] = token, 1
		if model == "llama" && strings.HasPrefix(token, "<0x") {
			types[id] = 6
		}
	}
	for _, a := range p.Added {
		tokens[a.ID], types[a.ID] = a.Content, 4
		if a.Special {
			types[a.ID] = 3
		}
		if a.Content == "<unk>" {
			types[a.ID] = 2
		}
	}
	out := []pair{
		{"tokenizer.ggml.model", model}, {"tokenizer.ggml.pre", pre}, {"tokenizer.ggml.tokens", tokens}, {"tokenizer.ggml.token_type", types},
		{"tokenizer.ggml.bos_token_id", uint32(p.Added[min(1, len(p.Added)-1)].ID)}, {"tokenizer.ggml.add_bos_token", bos}, {"tokenizer.chat_template", "{{ x }}"},
	}
	if name == "deepseek_v2" {
		out[4][1] = uint32(0)
	}
	if model == "llama" {
		return append(out, pair{"tokenizer.ggml.scores", scores})
	}
	var merges []string
	for _, m := range p.Model.Merges {
		if both, ok := m.([]any); ok {
			m = both[0].(string) + " " + both[1].(string)
		}
		merges = append(merges, m.(string))
	}
	return append(out, pair{"tokenizer.ggml.merges", merges})
}

// ids are what Hugging Face's tokenizers gives for texts.
type ids struct {
	Strings []string
	Goldens map[string][]struct {
		IDs     []int32
		Decoded string `json:"decoded_all"`
	}
}

// requireGoldens checks the tokenizer of a checkpoint against the goldens of a published one.
func requireGoldens(t testing.TB, c checkpoint.Checkpoint, name string) {
	t.Helper()
	text, err := os.ReadFile(tokenizers + "goldens.json")
	require.NoError(t, err)
	var g ids
	require.NoError(t, json.Unmarshal(text, &g))
	text, found, err := c.(checkpoint.Companion).Companion("tokenizer.json")
	require.NoError(t, err, name)
	require.True(t, found, name)
	tok, err := tokenizer.Parse("tokenizer.json", text)
	require.NoError(t, err, name)
	require.Len(t, g.Goldens[name], len(g.Strings))
	for i, want := range g.Goldens[name] {
		got, err := tok.Encode(g.Strings[i], true)
		require.NoError(t, err)
		require.Equal(t, want.IDs, got, "%s: %q", name, g.Strings[i])
		decoded, err := tok.Decode(got)
		require.NoError(t, err)
		require.Equal(t, want.Decoded, decoded, name)
	}
}

// The tokenizers in GGUF files are those that the files were made with.
func TestTokenizer(t *testing.T) {
	requireGoldens(t, open(t, goldens+"olmoe-tiny-F16.gguf"), "olmoe")
	requireGoldens(t, open(t, goldens+"qwen3_moe-tiny-Q4_0.gguf"), "qwen3")
	for _, c := range []struct {
		name, model, pre string
		bos              bool
	}{
		{"olmoe", "gpt2", "olmo", false}, {"qwen3", "gpt2", "qwen2", false}, {"lfm2", "gpt2", "lfm2", true},
		{"deepseek_v2", "gpt2", "deepseek-llm", true}, {"mixtral", "llama", "default", true},
	} {
		ckpt := opened(t, pairsOf(t, c.name, c.model, c.pre, c.bos))
		requireGoldens(t, ckpt, c.name)
		text, found, err := ckpt.(checkpoint.Companion).Companion("tokenizer_config.json")
		require.NoError(t, err)
		require.True(t, found)
		require.Contains(t, string(text), `"chat_template":"{{ x }}"`)
	}
}

// What cannot be made a tokenizer.json is refused, unless there is one beside the file; and so is what is no companion.
func TestTokenizerRefused(t *testing.T) {
	whole := pairsOf(t, "olmoe", "gpt2", "olmo", false)
	with := func(key string, v any, more ...pair) []pair {
		out := more
		for _, p := range whole {
			if p[0] != key {
				out = append(out, p)
			} else if v != nil {
				out = append(out, pair{key, v})
			}
		}
		return out
	}
	llama := append(pairsOf(t, "mixtral", "llama", "", true), pair{"tokenizer.ggml.add_space_prefix", false})
	for _, c := range []struct {
		name  string
		pairs []pair
		want  string
	}{
		{"unknown model", with("tokenizer.ggml.model", "bert"), `model "bert" is not read, only gpt2 and llama`},
		{"unknown pre", with("tokenizer.ggml.pre", "new"), `pre-tokenizer "new" is unknown`},
		{"pre of another model", with("tokenizer.ggml.pre", "sentencepiece"), `pre-tokenizer "sentencepiece" is unknown`},
		{"pre that leads out", with("tokenizer.ggml.pre", "../pre/olmo"), `pre-tokenizer "../pre/olmo" is unknown`},
		{"no pre", with("tokenizer.ggml.pre", nil), `pre-tokenizer "" is unknown`},
		{"U16 no merges", with("tokenizer.ggml.merges", nil), "no merges"},
		{"no tokens", with("tokenizer.ggml.tokens", nil), "773 types for 0 tokens"},
		{"fewer types", with("tokenizer.ggml.token_type", []int32{1}), "1 types for 773 tokens"},
		{"no scores", with("tokenizer.ggml.model", "llama"), "0 scores for 773 tokens"},
		{"no UTF-8", with("tokenizer.ggml.tokens", append([]string{"\xff"}, make([]string, 772)...)), `token 0 is "\xff", no UTF-8`},
		{"no last token", with("", nil, pair{"tokenizer.ggml.add_eos_token", true}), "tokenizer.ggml.add_eos_token is set, and tokenizer.ggml.eos_token_id is <nil>"},
		{"a last token beyond", with("", nil, pair{"tokenizer.ggml.add_eos_token", true}, pair{"tokenizer.ggml.eos_token_id", uint32(9999)}),
			"tokenizer.ggml.add_eos_token is set, and tokenizer.ggml.eos_token_id is 9999"},
		{"no prefix", llama, "add_space_prefix is false, which is not read"},
	} {
		ckpt := opened(t, c.pairs)
		path := ckpt.Files()[0].Path
		_, _, err := checkpoint.CompanionOf(ckpt, path, "tokenizer.json", 1<<20)
		require.EqualError(t, err, path+": tokenizer: "+c.want+"; put the model's tokenizer.json beside the file", c.name)
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "tokenizer.json"), []byte("{}"), 0o666))
		text, found, err := checkpoint.CompanionOf(ckpt, path, "tokenizer.json", 1<<20)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "{}", string(text))
		_, found, err = checkpoint.CompanionOf(ckpt, path, "other.json", 1<<20)
		require.NoError(t, err)
		require.False(t, found)
	}
	for _, none := range [][]pair{nil, {{"tokenizer.ggml.model", "none"}}, {{"tokenizer.ggml.model", "no_vocab"}}} {
		_, found, err := checkpoint.CompanionOf(opened(t, none), t.TempDir(), "tokenizer.json", 1)
		require.NoError(t, err)
		require.False(t, found, "a file without a tokenizer: %v", none)
	}
}
