package layout

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A place is in a package at any depth, by any link, whether it is there or not.
func TestAround(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(top)
	require.NoError(t, os.MkdirAll("P/there/deep", 0o700))
	require.NoError(t, os.MkdirAll("away/far", 0o700))
	require.NoError(t, os.WriteFile("P/"+ManifestName, nil, 0o600))
	require.NoError(t, os.MkdirAll("odd/"+ManifestName, 0o700))
	for name, to := range map[string]string{
		"away/there": "../P/there", "away/not": "../P/not", "away/abs": top + "/P", "away/again": "not", "away/loop": "loop",
		"back": "away/far", "away/far/up": "../../P/x", "P/out": "../away",
	} {
		require.NoError(t, os.Symlink(to, name))
	}
	for path, want := range map[string]string{
		"P": "P", "P/a": "P", "P/a/b/c": "P", "P/there/deep/x": "P", "P/" + ManifestName: "P",
		"away/there": "P", "away/there/x/y": "P", "away/not": "P", "away/not/x": "P", "away/abs/x": "P", "away/again": "P", "back/up/y": "P",
		".": "", "away": "", "away/x/y": "", "P/../away": "", "P/out/x": "", "odd/x": "", "away/loop": "", "away/loop/x": "", "Px/y": "", "/": "",
	} {
		if want != "" {
			want = filepath.Join(top, want)
		}
		require.Equal(t, want, Around(path), path)
	}
	require.Equal(t, filepath.Join(top, "P"), Around(filepath.Join(top, "away", "there", "x")))
}
