package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTraceCommand(t *testing.T) {
	dir, out := packed(t, tiny, "w8"), t.TempDir()
	svg, saved := filepath.Join(out, "run.svg"), filepath.Join(out, "run.json")
	r := ok(t, "trace", "--group", "2", "-o", svg, "-o", saved, "--tokens", "1,2,3,4,5", dir)
	require.Regexp(t, `(?s)^run       5 tokens in \d+\.\d+ s; bubble estimate \d+\.\d %
reading   \d+\.\d+ s \(\d+ %\): \d+\.\d KiB in \d+ reads, \S+ \S+/s while any was in flight; \d+ guesses dropped
computing .*experts \d+ %.*
other     \d+\.\d+ s \(\d+ %\): neither computing nor waiting: between programs, and before the first
waiting   \d+\.\d+ s \(\d+ %\) in \d+ waits
`, r.out)
	drawing, err := os.ReadFile(svg)
	require.NoError(t, err)
	require.Contains(t, string(drawing), "olmoe-w8, 5 tokens: ")
	require.Contains(t, string(drawing), "</svg>")

	// what was saved gives the same again, of some layers too
	require.Equal(t, r.out, ok(t, "trace", saved).out)
	part := filepath.Join(out, "part.svg")
	ok(t, "trace", "--layers", "1-2", "-o", part, saved)
	text, err := os.ReadFile(part)
	require.NoError(t, err)
	require.NotEqual(t, string(drawing), string(text))
	v := object(t, ok(t, "trace", "--json", "--waits", "1", saved))
	requireKeys(t, v, "run", "run_s", "reading_s", "computing_s", "waiting_s", "neither_s", "bubble_estimate", "bytes_read", "reads", "dropped", "graphs", "causes")
	require.LessOrEqual(t, len(v["waits"].([]any)), 1)

	// and so does one of run --trace, in the format of Perfetto
	other := filepath.Join(out, "other.json")
	ok(t, "run", "--trace", other, "--tokens", "1,2,3", dir)
	require.Contains(t, ok(t, "trace", other).out, "run       3 tokens in ")
	var perfetto struct {
		Events []map[string]any `json:"traceEvents"`
	}
	data, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &perfetto))
	require.NotEmpty(t, perfetto.Events)
}

func TestTraceTrouble(t *testing.T) {
	dir, out := packed(t, tiny, "w8"), t.TempDir()
	text := filepath.Join(out, "t.json")
	require.NoError(t, os.WriteFile(text, []byte("{}"), 0o666))
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{dir}, "give one of PROMPT and --tokens, got 0"},
		{2, []string{"-o", out + "/x.png", "--tokens", "1", dir}, "name a file that ends in .svg or .json"},
		{2, []string{"-o", dir + "/x.svg", "--tokens", "1", dir}, "lies in the package"},
		{2, []string{"-o", out + "/x.svg", "-o", out + "/x.svg", "--tokens", "1", dir}, "is given twice"},
		{2, []string{"--waits", "-1", "--tokens", "1", dir}, "--waits=-1: want 0 or more"},
		{2, []string{"--memory", "1GiB", text}, "t.json is a trace: --memory is for a package"},
		{2, []string{text, "hello"}, "t.json is a trace: a prompt is for a package"},
		{1, []string{text}, "no trace: it has no traceEvents"},
		{1, []string{"--layers", "7", "--tokens", "1", dir}, "--layers 7: the trace has no program of such a layer"},
		{1, []string{"--tokens", "1", out + "/nowhere"}, "nowhere"},
		{1, []string{out + "/nowhere.json"}, "nowhere.json: no such file or directory"},
	} {
		r := run(append([]string{"trace"}, c.args...)...)
		require.Equal(t, c.code, r.code, "estream trace %q: %s", c.args, r.errors)
		require.Empty(t, r.out, "estream trace %q", c.args)
		require.Contains(t, r.errors, c.want, "estream trace %q", c.args)
	}
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is left of what failed")
}
