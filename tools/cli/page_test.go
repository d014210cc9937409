package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInspectHTML(t *testing.T) {
	dir, file := packed(t, tiny, "f32"), filepath.Join(t.TempDir(), "page.html")
	require.Empty(t, ok(t, "inspect", "--html", file, dir).out)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, want := range []string{"<title>" + filepath.Base(dir) + " · estream</title>", "<dd>219,456</dd>", "A prompt of 512 tokens on this machine", "9 of 9</b> graphs run on it"} {
		require.Contains(t, string(text), want)
	}

	r := run("inspect", "--html", filepath.Join(dir, "page.html"), dir)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, "lies in the package")
	require.NoFileExists(t, filepath.Join(dir, "page.html"))
}

// A page is made of a package that is not.
func TestSynthHTML(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	require.Contains(t, ok(t, "synth", "--dry-run", "--html", file, "--config", "../../testdata/configs/Qwen3-30B-A3B.config.json").out, "family    qwen3, 48 layers, as w4\n")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Less(t, len(text), 1<<20)
	for _, want := range []string{"<title>Qwen3-30B-A3B · estream</title>", "This package is planned, not written", "<dd>30,532,122,624</dd>", "A run's arena has 4 banks of 13 experts and two slots", "<dt>the least arena</dt><dd>39.5 MiB</dd>", "computing hides the reading of experts: 510 where"} {
		require.Contains(t, string(text), want)
	}
	require.NotContains(t, string(text), "cannot be shown")

	ok(t, "synth", "--dry-run", "--html", file, "--config", tiny)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "<title>olmoe · estream</title>")

	r := run("synth", "--html", file, "--config", tiny, filepath.Join(t.TempDir(), "p"))
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, "--html is of --dry-run")
}
