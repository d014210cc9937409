package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/tools/calibrate"
)

// TestProfileKey: a device's profile is of the calibration that sizes its graphs, the host's of none.
func TestProfileKey(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, layout.ManifestName), []byte("x"), 0o666))
	keys := func(f runFlags) (out []string) {
		for _, text := range []string{"", "a", "b"} {
			at := filepath.Join(dir, calibrate.Name)
			if os.Remove(at); text != "" {
				require.NoError(t, os.WriteFile(at, []byte(text), 0o666))
			}
			key, err := f.profileKey(dir, 2)
			require.NoError(t, err)
			out = append(out, key)
		}
		return out
	}
	r := (&App{}).newRouting()
	k := keys(runFlags{routing: r, backend: "qnn-htp"})
	require.NotEqual(t, k[0], k[1])
	require.NotEqual(t, k[1], k[2])
	for _, f := range []runFlags{{routing: r}, {routing: r, backend: "host"}, {backend: "qnn-htp"}} {
		k := keys(f)
		require.Equal(t, []string{k[0], k[0]}, k[1:], "%+v", f)
	}
}
