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

// Who waits for another to be done is told when it is asked to stop.
func TestLockInterrupted(t *testing.T) {
	dir := packed(t)
	folder, err := os.Open(dir)
	require.NoError(t, err)
	defer folder.Close()
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX))
	ops, err := ir.Core()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	h := host.New(host.Options{})
	_, err = prepare.Run(ctx, dir, []prepare.Backend{compiler{h, "v79", "a"}}, prepare.Options{Host: h, Ops: ops})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
