package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each graph that a package has on the device, one a tier, stands in a DLC that
// inspect shows.
func TestQNNDLC(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "graphs")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "w8", tiny, dir)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"prepare", "--dlc", to, "--soc", "v79", dir}, 2, "--dlc writes graphs for no chip in particular: leave --soc out"},
		{[]string{"prepare", "--dlc", dir, dir}, 1, dir + " is a package: name another folder for DLCs"},
		{[]string{"prepare", "--dlc", filepath.Join(dir, "x"), dir}, 1, dir + " is a package: name another folder for DLCs"},
		{[]string{"prepare", "--dlc", to, packed(t, tiny, "f32")}, 1, "packed as host, which qnn-htp does not read: estream repack --backend qnn-htp " + packed(t, tiny, "f32") + " NEW\n"},
	} {
		r := run(c.args...)
		require.Equal(t, c.code, r.code, "%v", c.args)
		require.Contains(t, r.errors, c.want)
	}
	qnnLibrary(t, "libQnnIr.so")
	out := ok(t, "prepare", "--dlc", to, dir).out
	for line := range strings.Lines(out) {
		graph, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		file, _, _ := strings.Cut(rest, ".dlc, ")
		require.Equal(t, filepath.Join(to, graph), file)
		require.Regexp(t, `^dlc +\d.* of QAIRT 2\.(?s:.*)part +model: (?s:.*)\ngraph +`+regexp.QuoteMeta(filepath.Base(graph))+`#[0-9a-f]{8}: \d+ inputs, \d+ outputs\n$`, ok(t, "inspect", file+".dlc").out)
		info, err := os.Stat(file + ".dlc")
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o644), info.Mode().Perm(), "as binaries are")
	}
	require.Regexp(t, `(?m)^c0.body@T16,S64: `, out)
	require.Regexp(t, `(?m)^expert0@R4: `, out)
	entries, err := os.ReadDir(to)
	require.NoError(t, err)
	require.Len(t, entries, strings.Count(out, "\n"), "and nothing else")
	require.Contains(t, ok(t, "prepare", "--json", "--dlc", to, dir).out, `{"graph":"c0.tail@T1","file":"`)
}
