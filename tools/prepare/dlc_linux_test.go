package prepare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/ir"
	"estream/lower"
	"estream/tools/prepare"
)

// A disk without room is named before a graph is written, and where one fills it.
func TestDescribeFull(t *testing.T) {
	dir, npu, o := described(t)
	to := t.TempDir()
	if err := unix.Mount("tmpfs", to, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("a file system cannot be mounted, which takes root: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(to, 0)) })
	fill := func(path string) { require.ErrorIs(t, os.WriteFile(path, make([]byte, 4<<20), 0o600), unix.ENOSPC) }
	want := "the disk of " + to + " is full: make room there or name another folder for DLCs: write " + to + `/\.dlc\d+/room: no space left on device`

	filler, wrote := filepath.Join(to, "filler"), 0
	fill(filler)
	_, err := prepare.Describe(t.Context(), dir, to, npu, func(context.Context, *ir.Graph, lower.Packing, string) error { wrote++; return nil }, o)
	require.Regexp(t, "^"+want+"$", err.Error())
	require.Zero(t, wrote)
	require.NoError(t, os.Remove(filler))

	_, err = prepare.Describe(t.Context(), dir, to, npu, func(_ context.Context, _ *ir.Graph, _ lower.Packing, path string) error {
		fill(path)
		require.NoError(t, os.Truncate(path, 5<<19), "as one that leaves a part of it")
		return errors.New("error 6022")
	}, o)
	require.Regexp(t, "^package "+dir+": "+want+": error 6022$", err.Error())
	left, err := os.ReadDir(to)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Of two that write to one folder one waits for the other, whose begun files stay.
func TestDescribeWaits(t *testing.T) {
	dir, npu, o := described(t)
	to, waited := t.TempDir(), 0
	second := make(chan error, 1)
	write := func(text string) func(context.Context, *ir.Graph, lower.Packing, string) error {
		return func(_ context.Context, _ *ir.Graph, _ lower.Packing, path string) error {
			return os.WriteFile(path, []byte(text), 0o600)
		}
	}
	waits := make(chan string, 1)
	begun := false
	made, err := prepare.Describe(t.Context(), dir, to, npu, func(ctx context.Context, g *ir.Graph, p lower.Packing, path string) error {
		if !begun {
			begun = true
			with := o
			with.Waits = func(folder string) { waited++; waits <- folder }
			go func() {
				_, err := prepare.Describe(ctx, dir, to, npu, write("second"), with)
				second <- err
			}()
			require.Equal(t, to, <-waits)
		}
		return write("first")(ctx, g, p, path)
	}, o)
	require.NoError(t, err)
	require.NoError(t, <-second)
	require.Equal(t, 1, waited)
	text, err := os.ReadFile(made[0].File)
	require.NoError(t, err)
	require.Equal(t, "second", string(text))
}
