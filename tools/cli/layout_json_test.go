package cli_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// snake is how names of JSON are spelled; dots come from names of files and values.
var snake = regexp.MustCompile(`^[a-z0-9]+([_.-][a-z0-9]+)*$`)

// requireSnake checks the names of all objects within v.
func requireSnake(t testing.TB, v any, at string) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			requireSnake(t, x, at+"[]")
		}
	case map[string]any:
		for key, x := range v {
			require.Regexp(t, snake, key, "in %s", at)
			requireSnake(t, x, at+"."+key)
		}
	}
}

// Names in JSON are all of one kind, none of them those of Go.
func TestNamesInJSON(t *testing.T) {
	dir, made := packed(t, tiny, "w8"), t.TempDir()
	for _, args := range [][]string{
		{"pack", tiny, filepath.Join(made, "p")}, {"synth", "--config", tiny, filepath.Join(made, "s")}, {"synth", "--checkpoint", "--config", tiny, filepath.Join(made, "c")},
		{"synth", "--dry-run", "--config", tiny}, {"inspect", dir}, {"verify", dir}, {"run", "--tokens", "1,2", dir}, {"bench", "-p", "2", "-r", "1", "--profile", dir},
		{"check", "--golden", goldens, packed(t, tiny, "f32")}, {"families"}, {"ops"}, {"formats"}, {"backends"},
	} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(ok(t, append(args, "--json")...).out), &v), "%q", args)
		requireSnake(t, v, args[0])
	}
	v := object(t, ok(t, "synth", "--dry-run", "--json", "--config", tiny))
	require.Equal(t, map[string]any{"name": "dense.bin", "size": 147456.0}, v["files"].([]any)[0])
	require.Equal(t, map[string]any{"key": "encoding", "value": "w4"}, v["policy"].([]any)[0])
	v = object(t, ok(t, "inspect", "--json", dir))
	first := v["experts"].([]any)[0].(map[string]any)
	requireKeys(t, first, "layer", "index", "class", "offset", "length", "crc", "factors")
	requireKeys(t, v["rows"].([]any)[0].(map[string]any), "name", "offset", "rows", "row_stride", "row_bytes", "factor", "block_crcs")
}
