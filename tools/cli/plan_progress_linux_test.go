package cli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/ir"
	"estream/lower"
	"estream/tools/cli"
)

// newTerminal returns both ends of a terminal: what a program has, and what a user sees.
func newTerminal(t *testing.T) (program, user *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { user.Close() })
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { program.Close() })
	return program, user
}

// onTerminal begins a command of the App of a test's name, whose stderr is a terminal.
func onTerminal(t *testing.T, variable string, args ...string) (cmd *exec.Cmd, stdout *strings.Builder, user *os.File) {
	t.Helper()
	program, user := newTerminal(t)
	cmd, stdout = exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$"), new(strings.Builder)
	cmd.Env = append(os.Environ(), variable+"="+strings.Join(args, "\n"), "TERM=xterm")
	cmd.Stdout, cmd.Stderr = stdout, program
	require.NoError(t, cmd.Start())
	require.NoError(t, program.Close()) // what the command has is another
	return cmd, stdout, user
}

// seen reads what a user sees until it contains some text, or all of it where that is empty.
func seen(t *testing.T, user *os.File, until string) string {
	t.Helper()
	var text strings.Builder
	for b := make([]byte, 4096); until == "" || !strings.Contains(text.String(), until); {
		n, err := user.Read(b)
		text.Write(b[:n])
		if errors.Is(err, syscall.EIO) && until == "" {
			break // nobody has the other end any more
		}
		require.NoError(t, err, "%q, want %q", text.String(), until)
	}
	return text.String()
}

// Who waits for a profile sees that it is being measured, and nothing of that is left.
func TestPlanShowsMeasuring(t *testing.T) {
	ownCache(t)
	cmd, stdout, user := onTerminal(t, mainArgs, "plan", "--json", "--tokens", "8", packed(t, tiny, "w4"))
	text := seen(t, user, "")
	require.NoError(t, cmd.Wait(), text)
	require.Regexp(t, `^(\rmeasuring on host, (\d+m)?\d+s\x1b\[K)+\r\x1b\[K(\rplanning on host, (\d+m)?\d+s\x1b\[K)*(\r\x1b\[K)?$`, text)
	require.Regexp(t, `^\{.*\}\n$`, stdout.String())
}

// stuckArgs is mainArgs of a command with a backend that never has compiled anything.
const stuckArgs = "CLI_TEST_STUCK_ARGS"

type stuck struct{ lower.Backend }

func (stuck) Compile(context.Context, *ir.Module, lower.Packing) (lower.Compiled, error) {
	fmt.Fprintln(os.Stderr, "stuck")
	select {}
}

// A signal ends a plan at once, whatever its backend is at. Of what is not left at that,
// such as a run, it is told that a second signal ends it.
func TestStuckInterrupted(t *testing.T) {
	if args, child := os.LookupEnv(stuckArgs); child {
		a := cli.Default()
		a.Backends = []cli.Backend{{Name: "stuck", New: func(h lower.Backend) lower.Backend { return stuck{h} }}}
		os.Exit(cli.Main(a, strings.Split(args, "\n")))
	}
	ownCache(t)
	dir := packed(t, tiny, "w4")
	cmd, stdout, user := onTerminal(t, stuckArgs, "plan", "--backend", "stuck", dir)
	seen(t, user, "stuck\r\n")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	text := seen(t, user, "")
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), text)
	require.Regexp(t, `\r\x1b\[Kestream: interrupted\r\n$`, "\r\x1b[K"+unhurriedEnd(text))
	require.Empty(t, stdout.String())

	cmd, _, user = onTerminal(t, stuckArgs, "run", "--plan", "off", "--tokens", "1", "--backend", "stuck", dir)
	seen(t, user, "stuck\r\n")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	seen(t, user, "ending when what is under way returns; Ctrl-C again ends at once\r\n")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.EqualError(t, cmd.Wait(), "signal: interrupt")
}

// What a library compiles is shown while it does, and of what it runs that it is measured by.
func TestQNNShowsCompiling(t *testing.T) {
	qnnLibrary(t, "libQnnHtp.so")
	if testing.Short() {
		t.Skip("compiles graphs for some seconds")
	}
	ownCache(t)
	t.Setenv("ESTREAM_QNN_SOC", "v79")
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "f32", tiny, dir)
	cmd, stdout, user := onTerminal(t, mainArgs, "prepare", "--soc", "v79", dir)
	text := seen(t, user, "")
	require.NoError(t, cmd.Wait(), text)
	require.Regexp(t, `\rqnn-htp, (\d+m)?\d+s: compiling for SM8750 \(v79\), graph \d+ of 16, \w+(\.\w+)?@[A-Z0-9,]+\x1b\[K`, text)
	require.Regexp(t, `\r\x1b\[K$`, text)
	require.Contains(t, stdout.String(), " of qnn-htp for v79, made by QAIRT ")

	cmd, stdout, user = onTerminal(t, mainArgs, "plan", "--backend", "qnn-htp", dir)
	text = seen(t, user, ": graph run ")
	require.Regexp(t, `\rmeasuring on qnn-htp, (\d+m)?\d+s: graph run \d+, \w+(\.\w+)?@[A-Z0-9,]+\x1b\[K`, text+seen(t, user, "\x1b[K"))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Regexp(t, `\r\x1b\[Kestream: interrupted\r\n$`, unhurriedEnd(seen(t, user, "")))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Empty(t, stdout.String())
}

// Who waits for the lock of another prepare is told for what, once, and can leave.
func TestQNNPrepareWaits(t *testing.T) {
	qnnLibrary(t, "libQnnHtp.so")
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "f32", tiny, dir)
	folder, err := os.Open(dir)
	require.NoError(t, err)
	defer folder.Close()
	require.NoError(t, syscall.Flock(int(folder.Fd()), syscall.LOCK_EX))
	cmd, stdout, user := onTerminal(t, mainArgs, "prepare", "--soc", "v79", dir)
	text := seen(t, user, "waiting for another program that has the lock of the folder "+dir+", such as an estream prepare; Ctrl-C ends this one\r\n")
	require.Equal(t, 1, strings.Count(text, "waiting"))
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Equal(t, "estream: interrupted\r\n", unhurriedEnd(seen(t, user, "")))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Empty(t, stdout.String())
}
