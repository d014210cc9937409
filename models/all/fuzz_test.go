package all_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
)

// Whatever a config.json says, a family refuses it or builds a module that verifies.
func FuzzBuild(f *testing.F) {
	var files []string
	for _, pattern := range []string{"../../testdata/*/config*.json", "testdata/configs/*.config.json"} {
		found, err := filepath.Glob(pattern)
		require.NoError(f, err)
		files = append(files, found...)
	}
	require.Greater(f, len(files), 2*len(tiny))
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Add(edited(f, "../../testdata/deepseek/config.json", map[string]any{
		"rope_scaling": map[string]any{"type": "yarn", "factor": 40, "original_max_position_embeddings": 64, "mscale": 1, "mscale_all_dim": 1e160},
	}))
	ops, err := ir.Core()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := models.ReadConfig(text)
		if err != nil || len(c.Architectures) == 0 || c.NumHiddenLayers > 64 || c.NumAttentionHeads > 64 {
			return
		}
		m, err := build(c)
		if err != nil {
			return
		}
		if err := m.Verify(); err != nil {
			t.Fatalf("%v, of %s", err, text)
		}
		if again, err := ir.Parse(m.String(), ops); err != nil || again.String() != m.String() {
			t.Fatalf("its text is not read again: %v, of %s", err, text)
		}
	})
}

// TestOddSettings gives each setting of each family values that are none, or far off.
func TestOddSettings(t *testing.T) {
	odd := []any{nil, true, -1, 0, 1, 2, 7, 0.3, 1 << 31, 1e300, "x", []any{}, []any{1, "conv"}, map[string]any{}, map[string]any{"rope_type": "yarn", "factor": 1e300}}
	extra := map[string]map[string]any{"deepseek": {"q_lora_rank": 24, "topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 2}}
	for _, name := range tiny {
		path := filepath.Join("../../testdata", name, "config.json")
		for key := range keysOf(t, path) {
			for _, value := range odd {
				for _, more := range []map[string]any{{}, extra[name]} {
					edits := map[string]any{}
					maps.Copy(edits, more)
					edits[key] = value
					c, err := models.ReadConfig(edited(t, path, edits))
					if err != nil || len(c.Architectures) == 0 {
						continue
					}
					if m, err := build(c); err == nil {
						require.NoError(t, m.Verify(), "%s: %v", name, edits)
					}
				}
			}
		}
	}
}

func keysOf(t *testing.T, path string) map[string]any {
	t.Helper()
	values := map[string]any{}
	require.NoError(t, json.Unmarshal(edited(t, path, nil), &values))
	return values
}
