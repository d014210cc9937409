package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Inspect says of a calibration what run says of it.
func TestInspectUnused(t *testing.T) {
	dir, tokens := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.CopyFS(dir, os.DirFS(packed(t, tiny, "w8"))))
	require.NoError(t, os.WriteFile(tokens, []byte("1,2,3,4,5,6,7,8\n"), 0o600))
	ok(t, "calibrate", "--batch", "8", "--tokens-file", tokens, dir)
	file := filepath.Join(dir, "calibration.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, c := range []struct {
		spoil func(c map[string]any)
		want  string
	}{
		{func(c map[string]any) {}, ""},
		{func(c map[string]any) { c["layers"] = []any{} }, "the calibration's layers are not the package's: calibrate the package again"},
		{func(c map[string]any) { c["layers"] = c["layers"].([]any)[:1] }, "the calibration's layers are not the package's: calibrate the package again"},
		{func(c map[string]any) { c["tokens"] = -5 }, file + " is damaged, calibrate the package again: batches is 1, of 8 tokens each, and tokens is -5: want 1 batch or more, and no fewer tokens"},
	} {
		var x map[string]any
		require.NoError(t, json.Unmarshal(text, &x))
		c.spoil(x)
		spoilt, err := json.Marshal(x)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, spoilt, 0o600))
		inspected, said := ok(t, "inspect", dir).out, run("run", "--tokens", "1,2", dir).errors
		unused, _ := object(t, ok(t, "inspect", "--json", dir))["calibration"].(map[string]any)["unused"].(string)
		require.Equal(t, c.want, unused)
		if c.want == "" {
			require.NotContains(t, inspected+said, "not used")
			continue
		}
		require.Equal(t, 1, strings.Count(inspected, "\nroutes "), inspected)
		require.Contains(t, inspected, "\nroutes    the calibration is not used: "+c.want+"\n")
		require.Contains(t, said, "note: the calibration is not used: "+c.want+"\n")
	}

	var x map[string]any
	require.NoError(t, json.Unmarshal(text, &x))
	x["cost_from"] = "me\nroutes    not so"
	spoilt, err := json.Marshal(x)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, spoilt, 0o600))
	require.Regexp(t, `(?m)^routes    on a device: .*; costs "me\\nroutes    not so"$`, ok(t, "inspect", dir).out)
}
