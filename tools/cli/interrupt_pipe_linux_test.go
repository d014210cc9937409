package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A signal ends a command that writes to a pipe that is full and that nobody reads, be it in one write or in many, of
// text or other bytes, and though what it says of that goes there, too.
func TestPipeInterrupted(t *testing.T) {
	for _, args := range [][]string{
		{"inspect", "--records", packed(t, tiny, "w8")},
		{"opt", "--dump", "all", tiny},
		{"export", "--format", "onnx", tiny},
	} {
		for _, both := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,both=%v", args[0], both), func(t *testing.T) { interruptPiped(t, both, args...) })
		}
	}
}

// interruptPiped interrupts a command whose stdout, or also its stderr, is a full pipe.
func interruptPiped(t *testing.T, both bool, args ...string) {
	stdout, in, err := os.Pipe()
	require.NoError(t, err)
	defer stdout.Close()
	holds, err := unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join(args, "\n"))
	cmd.Stdout, cmd.Stderr = in, &stderr
	if both {
		cmd.Stderr = in
	}
	err = cmd.Start()
	require.NoError(t, in.Close())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		queued, err := unix.IoctlGetInt(int(stdout.Fd()), unix.TIOCINQ)
		return err == nil && queued > holds*3/4
	}, 2*time.Minute, time.Millisecond, "the pipe is full, but for a line that needs more")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), stderr.String())
	if !both {
		require.Equal(t, "estream: interrupted\n", unhurriedEnd(stderr.String()))
	}
	text, err := io.ReadAll(stdout)
	require.NoError(t, err)
	require.LessOrEqual(t, len(text), holds, "what the pipe holds")
}
