package cli_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A signal ends a command that writes to a pipe that is full and that nobody reads, be it in one write or in many, of
// text or other bytes, and though what it says of that goes there, too.
func TestPipeInterrupted(t *testing.T) {
	for _, both := range []bool{false, true} {
		for _, args := range [][]string{
			{"inspect", "--records", packed(t, tiny, "w8")},
			{"opt", "--dump", "all", tiny},
			{"export", "--format", "onnx", tiny},
		} {
			stdout, in, err := os.Pipe()
			require.NoError(t, err)
			defer stdout.Close()
			holds, err := unix.FcntlInt(in.Fd(), unix.F_SETPIPE_SZ, 1)
			require.NoError(t, err)
			var stderr strings.Builder
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join(args, "\n"))
			cmd.Stdout, cmd.Stderr = in, &stderr
			if both {
				cmd.Stderr = in
			}
			require.NoError(t, cmd.Start())
			require.NoError(t, in.Close())
			for queued := 0; queued == 0; { // until the command writes
				queued, err = unix.IoctlGetInt(int(stdout.Fd()), unix.TIOCINQ)
				require.NoError(t, err)
			}
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.Error(t, cmd.Wait(), "%q", args)
			require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%q: %s", args, stderr.String())
			if !both {
				require.Equal(t, "estream: interrupted\n", stderr.String(), "%q", args)
			}
			text, err := io.ReadAll(stdout)
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), holds, "%q: what the pipe holds", args)
		}
	}
}
