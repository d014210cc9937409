package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/find"
)

// Whatever HTP and devices lack, the exit code is the processor's.
func TestDoctor(t *testing.T) {
	t.Setenv(find.Variable, t.TempDir())
	r := ok(t, "doctor", "--adb", "no-such-adb", "--folder", t.TempDir())
	for _, line := range []string{"processor  arithmetic", "memory     memory", "disk       free", "qnn        libraries      missing", "\nadb, adb: not found: packages cannot be run on a phone from here\n    apt-get install adb"} {
		require.Contains(t, r.out, line)
	}
	v := object(t, ok(t, "doctor", "--json", "--adb", "no-such-adb", "--folder", t.TempDir()))
	requireKeys(t, v, "ok", "findings", "soc", "libraries_folder", "libraries")
	require.Equal(t, true, v["ok"])
	r = run("doctor", "x")
	require.Equal(t, 2, r.code)
	t.Setenv("ESTREAM_CPU", "abacus")
	r = run("doctor", "--adb", "no-such-adb")
	require.Equal(t, 1, r.code)
	require.Equal(t, "estream: packages cannot be run on this processor\n", r.errors)
	require.Contains(t, r.out, "processor, instructions: ESTREAM_CPU=abacus: this processor has ")
}
