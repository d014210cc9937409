package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExport(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for format, begins := range map[string]string{
		"dot":  "digraph \"olmoe-f32\" {\n",
		"json": `{"schema":"estream-module/1","name":"olmoe-f32","layers":["c0","c0","c0"],`,
		"onnx": "\x08\x0c\x12\x07estream",
	} {
		path := filepath.Join(t.TempDir(), "out."+format)
		require.Equal(t, result{}, ok(t, "export", "--format", format, "-o", path, dir))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, begins, string(data[:len(begins)]))
		require.Equal(t, string(data), ok(t, "export", "--format", format, dir).out, "%s on stdout", format)

		v := object(t, ok(t, "export", "--json", "--format", format, "-o", path, dir))
		require.Equal(t, map[string]any{"file": path, "format": format, "bytes": float64(len(data)), "graphs": 9.0, "values": 76.0}, v)
	}
	require.Contains(t, ok(t, "export", tiny).out, "digraph \"olmoe\" {\n")
	require.Contains(t, ok(t, "export", "../../testdata/gguf/qwen3_moe-tiny-Q8_0.gguf").out, "digraph \"qwen3_moe-tiny-Q8_0\" {\n")
	require.Contains(t, given(t, irFile(t, silu), "export", "-").out, "digraph \"stdin\" {\n")
}

func TestExportRefuses(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for want, args := range map[string][]string{
		`unknown format "png": use one of dot, json, onnx`:                                  {"--format", "png", dir},
		"--json tells of a file: name one with -o, or take --format json":                   {"--json", dir},
		"--output " + dir + "/model.fb lies in the package " + dir + ": name another place": {"-o", dir + "/model.fb", dir},
	} {
		require.Equal(t, result{2, "", "estream: " + want + "\n"}, run(append([]string{"export"}, args...)...))
	}
	require.Equal(t, 1, run("export", "nowhere").code)
}
