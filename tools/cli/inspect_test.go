package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be shown at once, or of a checkpoint, is refused and not passed over.
func TestInspectRefuses(t *testing.T) {
	dir, page := packed(t, tiny, "w8"), filepath.Join(t.TempDir(), "page.html")
	for want, args := range map[string][]string{
		"--weights and --html show different things: give one":           {"--weights", "--html", page},
		"--html and --ir show different things: give one":                {"--html", page, "--ir"},
		"--ir and --legal show different things: give one":               {"--ir", "--legal"},
		"--weights and --graph show different things: give one":          {"--weights", "--graph", "embed"},
		"--graph and --records show different things: give one":          {"--records", "--graph", "embed"},
		"--html writes a page, and nothing is printed: leave --json out": {"--html", page, "--json"},
		"--layer, --sample and --each are for --weights":                 {"--each"},
	} {
		require.Equal(t, result{2, "", "estream: " + want + "\n"}, run(append([]string{"inspect", dir}, args...)...), "%q", args)
	}
	require.NoFileExists(t, page)
	ok(t, "inspect", "--legal", "--graph", "c0.body", dir)
	for _, path := range []string{tiny, "../../testdata/gguf/olmoe-tiny-Q8_0.gguf"} {
		r := run("inspect", "--html", page, path)
		require.Equal(t, 1, r.code)
		require.Equal(t, "estream: "+path+" is a checkpoint, of which inspect shows --weights alone; estream pack makes a package of it, and estream synth --dry-run --html FILE --config config.json the page that this would have: not a package\n", r.errors)
	}
	require.Contains(t, run("inspect", t.TempDir()).errors, "has no model.fb")
}

// What a package's calibration says is shown, and why one is of no use.
func TestInspectCalibration(t *testing.T) {
	dir, tokens := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.CopyFS(dir, os.DirFS(packed(t, tiny, "w8"))))
	require.NoError(t, os.WriteFile(tokens, []byte("1,2,3,4,5,6,7,8\n9,10,11,12,13,14,15,16\n"), 0o600))
	calibration := func() any { return object(t, ok(t, "inspect", "--json", dir))["calibration"] }
	require.Nil(t, calibration())
	require.NotContains(t, ok(t, "inspect", dir).out, "routes ")
	ok(t, "calibrate", "--batch", "8", "--row-tiers", "2,8", "--groups", "1", "--launch-us", "1", "--tokens-file", tokens, dir)
	require.Regexp(t, `(?m)^routes    by calibration.json: 16 tokens, 2 batches of 8; (1\d|2[0-4]) of 24 experts reached
routes    half of a layer's choices go to [1-4] to [1-4] of its experts
routes    on a device: all experts run on the host, the device gets none; costs in part given, assumed of an expert's size
policy `, ok(t, "inspect", dir).out)
	x := calibration().(map[string]any)
	require.Equal(t, map[string]any{"row_tiers": []any{2.0, 8.0}, "group_tiers": []any{1.0}, "host": true, "drop": false}, x["choice"])
	require.Equal(t, []any{"calibration.json", 16.0, 8.0, 2.0, false, 24.0}, []any{x["file"], x["tokens"], x["batch_tokens"], x["batches"], x["interrupted"], x["experts"]})
	require.Len(t, x["half"], 3)

	file := filepath.Join(dir, "calibration.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	other := packed(t, tiny, "w4")
	require.NoError(t, os.CopyFS(dir+"4", os.DirFS(other)))
	require.NoError(t, os.WriteFile(filepath.Join(dir+"4", "calibration.json"), text, 0o600))
	require.Contains(t, ok(t, "inspect", dir+"4").out, "routes    the calibration is not used: "+dir+"4/calibration.json: it is of another package: calibrate the package again\n")
}
