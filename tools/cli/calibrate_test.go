package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
	"estream/tools/calibrate"
	"estream/tools/cli"
)

// fresh packs a checkpoint into a folder of the test's own.
func fresh(t *testing.T, from, encoding string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--encoding", encoding, from, dir)
	return dir
}

func TestCalibrate(t *testing.T) {
	dir := fresh(t, trained, "w8")
	texts := filepath.Join(t.TempDir(), "texts.jsonl")
	data, err := os.ReadFile(trained + "/heldout.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(texts, []byte(strings.Join(strings.SplitAfter(string(data), "\n")[:1], "")), 0o600))
	costs := []string{"--launch-us", "150", "--body-us", "80", "--row-us", "3", "--host-expert-us", "160", "--host-row-us", "60"}
	r := ok(t, append([]string{"calibrate", "--batch", "64", "--threads", "1", "--group", "8", dir, "--text", texts}, costs...)...)
	for _, line := range []string{
		`text +\d+ tokens, \d+ batches of 64\n`,
		`cost +launch 150.0 us, expert 80.00 us, row 3.000 us; on the host expert 160.00 us, row 60.000 us: given\n`,
		`choice +tiers of \[(\d+ ){3}\d+\] rows, launches of \[1 4\] experts, the rest on the host\n`,
		`kept +\S+/p/calibration.json\n`,
		`\n +layer +reached +most popular +rows p50 +p99 +most +padding +overflow +launches +dropped +on host +drift p50 +alarm at\n +0 +\d+/16 .*\n( +\d .*\n){3}\n`,
		`\n +one tier for all .* 1.00\n +best one tier .*\n +4 tiers .*\n +and groups .*\n +and the host .*\n$`,
	} {
		require.Regexp(t, line, r.out)
	}
	ok(t, "verify", dir)
	require.Regexp(t, `\npopular   by \d+ tokens of its calibration: ' ' nothing to '@' \d\.\d times an even share, a layer a line and an expert a column\n(    \d [ .:=+*#%@-]{16}\n){4}$`,
		ok(t, "inspect", "--weights", dir).out)

	c, err := calibrate.Load(dir)
	require.NoError(t, err)
	require.Equal(t, []int{1, 4}, c.Choice.Groups)
	elsewhere := filepath.Join(t.TempDir(), "c.json")
	j := object(t, ok(t, append([]string{"calibrate", "--json", "--threads", "1", "--batch", "64", "--group", "8", "-o", elsewhere, dir, "--text", texts}, costs...)...))
	requireKeys(t, j, "version", "package", "tokens", "batch_tokens", "batches", "interrupted", "layers", "cost", "cost_from", "choice", "designs")
	kept, err := json.Marshal(c)
	require.NoError(t, err)
	printed, err := json.Marshal(j)
	require.NoError(t, err)
	require.JSONEq(t, string(kept), string(printed), "the same text, the same calibration")
	require.FileExists(t, elsewhere)

	twice := object(t, ok(t, "calibrate", "--json", "--threads", "1", "--batch", "64", dir, "--text", texts, texts))
	require.InDelta(t, 2*c.Tokens, twice["tokens"], 64)
	require.Equal(t, "assumed of an expert's size", twice["cost_from"])
	forced := object(t, ok(t, "calibrate", "--json", "--threads", "1", "--batch", "64", "--row-tiers", "8,4", "--groups", "1", "--on-host=false", "--drop", "--row-us", "5", "--drift-threshold", "0.25", dir, "--text", texts))
	require.Equal(t, map[string]any{"row_tiers": []any{4.0, 8.0}, "group_tiers": []any{1.0}, "host": false, "drop": true}, forced["choice"])
	require.Equal(t, 0.25, forced["layers"].([]any)[0].(map[string]any)["drift_threshold"])
	require.Equal(t, "in part given, assumed of an expert's size", forced["cost_from"])
}

// Text that reaches few experts is used, and those that it does not are listed.
func TestCalibrateUnreached(t *testing.T) {
	dir, tokens := fresh(t, tiny, "f32"), filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("7\n7\n7\n7\n7\n"), 0o600))
	r := ok(t, "calibrate", "--json", "--batch", "4", "--tokens-file", tokens, dir)
	require.Regexp(t, `(?m)^warning: layer 0: no token reached 5 of 8 experts: \d`, r.errors)
	layer := object(t, r)["layers"].([]any)[0].(map[string]any)
	require.Len(t, layer["unreached"], 5)
	require.Len(t, layer["counts"], 8)
	for _, p := range layer["popularity"].([]any) {
		require.Positive(t, p)
	}
}

func TestCalibrateRefuses(t *testing.T) {
	dir, none := fresh(t, tiny, "f32"), t.TempDir()
	short := filepath.Join(none, "short")
	require.NoError(t, os.WriteFile(short, []byte("1,2,3\n"), 0o600))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{1, "3 tokens of text, want 512, one batch, or more: give more text, or a smaller --batch", []string{dir, "--tokens-file", short}},
		{1, "the package has no tokenizer.json: give token ids with --tokens-file", []string{dir, "--text", short}},
		{2, "give texts with --text, or ids with --tokens-file", []string{dir}},
		{2, "give texts with --text, or ids with --tokens-file", []string{dir, short, "--tokens-file", short}},
		{2, "give texts with --text, or ids with --tokens-file", []string{dir, "--text", short, "--tokens-file", short}},
		{2, "--batch=0: want 1 to 65536 tokens", []string{dir, "--batch", "0", "--text", short}},
		{2, "--drift-threshold=2: want 0 to 1", []string{dir, "--drift-threshold", "2", "--text", short}},
		{2, "--tiers=99: want 1 to 64", []string{dir, "--tiers", "99", "--text", short}},
		{2, `--groups: "0": want 1 to 64, rising`, []string{dir, "--groups", "0", "--text", short}},
		{2, "--launch-us=-3: want 0 to 1e9", []string{dir, "--launch-us", "-3", "--text", short}},
		{2, "--row-us=NaN: want 0 to 1e9", []string{dir, "--row-us", "NaN", "--text", short}},
		{2, "unknown backend", []string{dir, "--backend", "abacus", "--batch", "1", "--tokens-file", short}},
		{2, "lies in the package", []string{dir, "-o", filepath.Join(dir, "experts.bin"), "--text", short}},
		{1, "is no package", []string{none, "--text", short}},
	} {
		r := run(append([]string{"calibrate"}, c.args...)...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.errors)
		require.Contains(t, r.errors, c.want, "%v", c.args)
		require.Empty(t, r.out)
	}
	require.NoFileExists(t, filepath.Join(dir, calibrate.Name))
	require.NoError(t, os.Symlink(filepath.Join(dir, "experts.bin"), filepath.Join(dir, calibrate.Name)))
	r := run("calibrate", dir, "--tokens-file", short, "--batch", "1")
	require.Contains(t, r.errors, "calibration.json is no file: remove it, or name another place with -o")
	ok(t, "verify", dir)
}

// A device's launches are measured, and the host's experts beside them.
func TestCalibrateMeasures(t *testing.T) {
	npu := lowertest.NewNPU()
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "npu", New: func(lower.Backend) lower.Backend {
		return static.New(npu, passes.Tiers{T: []int{4, 16}, S: []int{1, 64}, R: []int{2, 8}})
	}}}
	dir, tokens := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16\n17,18,19,20,21,22,23,24\n"), 0o600))
	for _, args := range [][]string{{"pack", "--encoding", "f32", "--backend", "npu", tiny, dir}, {"calibrate", "--backend", "npu", "--batch", "8", "--tokens-file", tokens, dir}} {
		code, out, e := runApp(a, args...)
		require.Zero(t, code, e)
		if args[0] == "calibrate" {
			require.Contains(t, out, ": measured on npu and the host\n")
			require.Contains(t, e, "measuring launches on npu\n")
		}
	}
	require.Positive(t, npu.Runs())
	require.Zero(t, npu.Live(), "device memory that nobody freed")
	c, err := calibrate.Load(dir)
	require.NoError(t, err)
	require.Positive(t, c.Cost.Launch+c.Cost.Body+c.Cost.Row)
	require.Positive(t, c.Cost.HostExpert+c.Cost.HostRow)
}
