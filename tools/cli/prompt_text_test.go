package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A model has ids that its tokenizer has no token for: they are run, and shown as numbers.
func TestRunTokenless(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--encoding", "f32", shortened(t), dir)
	long := strings.TrimSuffix(strings.Repeat("2047,", 40), ",")
	for _, c := range []struct{ tokens, want string }{
		{"2047", `token 2047, 1 tokens`},
		{"885,2047,2046,2047,2047", `" It" token 2047 " soft" token 2047 token 2047, 5 tokens`},
		{"885,2046", `" It soft", 2 tokens`},
		{long, strings.TrimSpace(strings.Repeat("token 2047 ", 20)) + ` ..., 40 tokens`},
		{"2047," + strings.TrimSuffix(strings.Repeat("885,", 200), ",") + ",2047", `token 2047 "` + strings.Repeat(" It", 63) + ` ..." ..., 202 tokens`},
	} {
		out := ok(t, "run", "--tokens", c.tokens, dir).out
		require.Contains(t, out, "prompt  "+c.want+"\nnext ", c.tokens)
		require.Contains(t, out, "\nmemory  ", c.tokens)
	}
	top := object(t, ok(t, "run", "--json", "--tokens", "2047", dir))["top_tokens"].([]any)
	require.Len(t, top[0], 5)
}

// shortened is the trained checkpoint, whose tokenizer lacks its last token.
func shortened(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors", "tokenizer.json"} {
		data, err := os.ReadFile(filepath.Join(trained, name))
		require.NoError(t, err)
		if name == "tokenizer.json" {
			var v map[string]any
			require.NoError(t, json.Unmarshal(data, &v))
			m := v["model"].(map[string]any)
			delete(m["vocab"].(map[string]any), "Ġincre")
			merges := m["merges"].([]any)
			m["merges"] = merges[:len(merges)-1]
			data, err = json.Marshal(v)
			require.NoError(t, err)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}
