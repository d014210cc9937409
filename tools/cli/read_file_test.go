//go:build unix

package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file is read whole up to a bound, a pipe too, and no longer than ctx wants.
func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o666))
	got, err := readFile(t.Context(), path, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(got))
	_, err = readFile(t.Context(), path, 4)
	require.EqualError(t, err, path+": longer than 4 B, the most that is read")
	_, err = readFile(t.Context(), "/dev/zero", 1<<20)
	require.EqualError(t, err, "/dev/zero: longer than 1.0 MiB, the most that is read")
	_, err = readFile(t.Context(), path+"s", 4)
	require.ErrorIs(t, err, os.ErrNotExist)

	pipe := func() string {
		path := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		return path
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = readFile(ctx, pipe(), 1<<20)
	require.ErrorIs(t, err, context.Canceled, "no writer")

	path = pipe()
	want := strings.Repeat("x", 1<<18) // more than a pipe holds
	go os.WriteFile(path, []byte(want), 0o600)
	got, err = readFile(t.Context(), path, 1<<20)
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}
