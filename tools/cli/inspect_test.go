package cli_test

import (
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
