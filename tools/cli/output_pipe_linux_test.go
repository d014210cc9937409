package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A signal ends a command whose output is a pipe that is full and that nobody reads.
func TestOutputPipeInterrupted(t *testing.T) {
	ownCache(t)
	dir, in := packed(t, tiny, "w4"), t.TempDir()
	saved := filepath.Join(in, "trace.json")
	ok(t, "run", "--trace", saved, "--tokens", "1,2,3", dir)
	tokens := strings.Repeat("7,", 40) + "7"
	for i, args := range [][]string{
		{"plan", "--tokens", "8,16,32,64", "--plot", "PIPE.html", dir},
		{"run", "--tokens", tokens, "--logits", "all", "--output", "PIPE", dir},
		{"run", "--tokens", tokens, "--trace", "PIPE", dir},
		{"trace", "--output", "PIPE.svg", saved},
		{"trace", "--output", "PIPE.json", "--tokens", tokens, dir},
		{"bench", "-p", "8", "-r", "1000000", "--trace", "PIPE", dir},
		{"inspect", "--html", "PIPE", dir},
		{"export", "--output", "PIPE", tiny},
	} {
		t.Run(fmt.Sprint(args[0], i), func(t *testing.T) {
			t.Parallel() // it is mostly waiting
			pipe := filepath.Join(t.TempDir(), "pipe")
			at := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "PIPE") })
			args[at] = strings.Replace(args[at], "PIPE", pipe, 1)
			interruptOutput(t, args[at], args...)
		})
	}
	t.Run("/dev/stdout", func(t *testing.T) { interruptPiped(t, false, "export", "-o", "/dev/stdout", tiny) })
}

// interruptOutput interrupts a command when the pipe that it writes to holds something,
// which is less than all that the command has for it.
func interruptOutput(t *testing.T, pipe string, args ...string) {
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	r, err := unix.Open(pipe, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(r)
	_, err = unix.FcntlInt(uintptr(r), unix.F_SETPIPE_SZ, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join(args, "\n"))
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	holds := func() bool {
		queued, err := unix.IoctlGetInt(r, unix.TIOCINQ)
		return err == nil && queued > 0
	}
	for !holds() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), stderr.String())
	require.True(t, strings.HasSuffix(stderr.String(), "estream: interrupted\n"), stderr.String())
}
