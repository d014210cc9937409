package prepare_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/ir"
	"estream/lower/host"
	"estream/tools/prepare"
)

// A package that cannot be written to is refused before anything is compiled.
func TestUnwritten(t *testing.T) {
	h := host.New(host.Options{})
	ops, err := ir.Core()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "p")
	require.NoError(t, os.Mkdir(dir, 0o700))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, 0)) })
	require.NoError(t, os.CopyFS(dir, os.DirFS(packed(t))))
	filler := filepath.Join(dir, "filler")
	for _, c := range []struct {
		name, want string
		do, undo   func() error
	}{
		{"read-only", `its folder cannot be written to: cp -R PACKAGE NEW && estream prepare NEW: open \S+: read-only file system`,
			func() error { return unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "") },
			func() error { return unix.Mount("", dir, "", unix.MS_REMOUNT, "") }},
		{"full", `its disk is full: make room there: write \S+: no space left on device`,
			func() error {
				if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); err == nil {
					return os.ErrInvalid
				}
				return nil
			},
			func() error { return os.Remove(filler) }},
	} {
		require.NoError(t, c.do(), c.name)
		compiled := 0
		b := meanwhile{compiler{h, "v79", "a"}, func() { compiled++ }}
		_, err := prepare.Run(t.Context(), dir, []prepare.Backend{b}, prepare.Options{Host: h, Ops: ops})
		require.Error(t, err, c.name)
		require.Regexp(t, "^package "+dir+": "+c.want+"$", err.Error(), c.name)
		require.Zero(t, compiled, "%s: compilations", c.name)
		require.NoError(t, c.undo(), c.name)
		left, err := filepath.Glob(filepath.Join(dir, "*.new"))
		require.NoError(t, err)
		require.Empty(t, left, c.name)
		_, err = prepare.Run(t.Context(), dir, []prepare.Backend{b}, prepare.Options{Host: h, Ops: ops})
		require.NoError(t, err, c.name)
		require.Equal(t, 1, compiled, c.name)
	}
}
