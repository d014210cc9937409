package prepare_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
	"estream/tools/prepare"
)

// Who waits for another to be done is told so, once, and when it is asked to stop.
func TestLockInterrupted(t *testing.T) {
	dir := packed(t)
	folder, err := os.Open(dir)
	require.NoError(t, err)
	defer folder.Close()
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX))
	ops, err := ir.Core()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	h := host.New(host.Options{})
	var waits []string
	o := prepare.Options{Host: h, Ops: ops, Waits: func(folder string) {
		waits = append(waits, folder)
		time.AfterFunc(20*time.Millisecond, cancel) // some tries later
	}}
	_, err = prepare.Run(ctx, dir, []prepare.Backend{compiler{h, "v79", "a"}}, o)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{dir}, waits)
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_UN))
	_, err = prepare.Run(t.Context(), dir, []prepare.Backend{compiler{h, "v79", "a"}}, o)
	require.NoError(t, err)
	require.Len(t, waits, 1, "nobody has it any more")
}
