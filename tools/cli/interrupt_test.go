//go:build linux || darwin

package cli_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A signal stops a run: exit code 130, and nothing on stdout or at the place of
// the output.
func TestInterrupted(t *testing.T) {
	dir := packed(t, trained, "w8")
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		interrupt(t, dir, sig, true)
	}
	interrupt(t, dir, os.Interrupt, false)
}

// interrupt stops a run of what a pipe gives, or one whose pipe gives nothing.
func interrupt(t *testing.T, dir string, sig os.Signal, given bool) {
	t.Helper()
	tokens, out := filepath.Join(t.TempDir(), "tokens"), filepath.Join(t.TempDir(), "out.safetensors")
	require.NoError(t, syscall.Mkfifo(tokens, 0o600))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join([]string{"run", "--chunk", "16", "--logits", "all", "-o", out, "--tokens-file", tokens, dir}, "\n"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	pipe, err := os.OpenFile(tokens, os.O_WRONLY, 0) // waits until the command reads it
	require.NoError(t, err)
	defer pipe.Close()
	if given {
		for range 40 { // seconds of work
			_, err := fmt.Fprintln(pipe, strings.Repeat("1,", 500)+"1")
			require.NoError(t, err)
		}
		require.NoError(t, pipe.Close())
	}
	require.NoError(t, cmd.Process.Signal(sig))
	if sig == syscall.SIGHUP { // a shell sends it as well as the system
		time.Sleep(20 * time.Millisecond)
		require.NoError(t, cmd.Process.Signal(sig))
	}
	err = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%v: %v: %s", sig, err, stderr.String())
	require.Empty(t, stdout.String(), sig)
	require.Contains(t, stderr.String(), "estream: interrupted\n", sig)
	left, err := os.ReadDir(filepath.Dir(out))
	require.NoError(t, err)
	require.Empty(t, left, sig)
}

// What nohup runs outlives its terminal.
func TestNohup(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, syscall.Mkfifo(tokens, 0o600))
	cmd := exec.Command("/bin/sh", "-c", `trap "" HUP; exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join([]string{"run", "--tokens-file", tokens, packed(t, tiny, "w4")}, "\n"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	pipe, err := os.OpenFile(tokens, os.O_WRONLY, 0) // waits until the command reads it
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	_, err = pipe.WriteString("1,2\n")
	require.NoError(t, errors.Join(err, pipe.Close()))
	require.NoError(t, cmd.Wait(), "%s", &stderr)
}

// A signal ends a bench: what was measured is printed whole, and the trace is whole.
func TestBenchInterrupted(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "timeline.json")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mainArgs+"="+strings.Join([]string{"bench", "-o", "json", "-p", "8", "-r", "1000000", "--progress", "--trace", trace, packed(t, tiny, "w4")}, "\n"))
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "pp8: run 3 of ") {
	}
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(stderr)
	require.NoError(t, err)
	err = cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%v: %s", err, rest)
	rs := results(t, stdout.String())
	require.Len(t, rs, 1)
	require.GreaterOrEqual(t, len(rs[0]["samples_ns"].([]any)), 2)
	text, err := os.ReadFile(trace)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
}
