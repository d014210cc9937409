//go:build linux || darwin

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
	"estream/tools/cli"
)

// busyArgs is mainArgs of a command whose families, and checkpoints named *.busy, take
// for ever, and say so.
const busyArgs = "CLI_TEST_BUSY_ARGS"

// A signal ends a command that only looks, though what it is at has no end and cannot
// be stopped: exit code 130, and nothing on stdout or at the place of the output.
func TestLookingInterrupted(t *testing.T) {
	if args, child := os.LookupEnv(busyArgs); child {
		os.Exit(cli.Main(busyApp(), strings.Split(args, "\n")))
	}
	dir, in, out := packed(t, tiny, "w8"), t.TempDir(), t.TempDir()
	model, saved, pipe := filepath.Join(in, "x.busy"), filepath.Join(in, "trace.json"), filepath.Join(in, "pipe.json")
	require.NoError(t, os.WriteFile(model, nil, 0o666))
	ok(t, "run", "--trace", saved, "--tokens", "1,2,3", dir)
	text, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(saved, append(text, bytes.Repeat([]byte("\n"), 1<<20)...), 0o666)) // more than a pipe holds
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))

	for _, args := range [][]string{
		{"export", tiny},
		{"export", "--format", "onnx", "-o", out + "/x.onnx", tiny},
		{"opt", tiny},
		{"diff", tiny, dir},
		{"diff", model, model},
		{"inspect", "--weights", model},
		{"inspect", "--html", out + "/x.html", dir},
		{"synth", "--dry-run", "--html", out + "/x.html", "--config", tiny},
		{"trace", "-o", out + "/x.svg", "-o", pipe, saved},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLookingInterrupted$")
		cmd.Env = append(os.Environ(), busyArgs+"="+strings.Join(args, "\n"))
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		busy := io.Reader(stderr)
		if slices.Contains(args, pipe) {
			f, err := os.Open(pipe)
			require.NoError(t, err)
			defer f.Close()
			busy = f
		}
		_, err = io.ReadFull(busy, make([]byte, 1))
		require.NoError(t, err, args)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		rest, err := io.ReadAll(stderr)
		require.NoError(t, err)
		require.Error(t, cmd.Wait(), "%q: %s", args, rest)
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%q: %s", args, rest)
		require.Regexp(t, `(^|\n)estream: interrupted\n$`, string(rest), args)
		require.Empty(t, stdout.String(), args)
		left, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Empty(t, left, args)
	}
}

func busyApp() *cli.App {
	a := cli.Default()
	for i := range a.Families {
		a.Families[i].Layer = func(*ir.Builder, *models.Config, int, *ir.Value, ir.Step, *ir.Value) (y, next *ir.Value) {
			forever()
			return nil, nil
		}
	}
	a.Formats = append(a.Formats, checkpoint.Format{
		Name: "busy", Doc: "reads for ever", Extensions: []string{".busy"},
		Match: func(path string) bool { return strings.HasSuffix(path, ".busy") },
		Open:  func(string, checkpoint.Options) (checkpoint.Checkpoint, error) { return busy{}, nil },
	})
	return a
}

func forever() {
	fmt.Fprintln(os.Stderr, "busy")
	select {}
}

// busy is a checkpoint of a weight that cannot be read.
type busy struct{}

func (busy) Config() ([]byte, error) { return nil, errors.New("no config.json") }
func (busy) Tensors() []checkpoint.Tensor {
	return []checkpoint.Tensor{{Name: "x", DType: "F32", Shape: []int{2, 64}, Bytes: 512}}
}
func (busy) Files() []checkpoint.File { return nil }
func (busy) Close() error             { return nil }

func (busy) Read(context.Context, string, int, int, []float32) error {
	forever()
	return nil
}
