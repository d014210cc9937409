package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/lowertest"
	"estream/models/checkpoint"
	"estream/tools/cli"
)

// runApp is run with an App of one's own.
func runApp(a *cli.App, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	a.Stdout, a.Stderr = &out, &err
	code = cli.Main(a, args)
	return code, out.String(), err.String()
}

func requireSame(t *testing.T, want, got string) {
	t.Helper()
	entries, err := os.ReadDir(want)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(want, e.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), "%s of %s and %s differ", e.Name(), want, got)
	}
}

func TestPackReports(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pkg")
	code, stdout, stderr := runApp(cli.Default(), "pack", "--encoding", "w8", "--json", tiny, dir)
	require.Zero(t, code, stderr)
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	for name, want := range map[string]any{"package": dir, "family": "olmoe", "encoding": "w8", "kept": 0.0} {
		require.Equal(t, want, r[name], name)
	}
	for _, name := range []string{"read_bytes", "written_bytes", "elapsed_s", "bytes_per_s"} {
		require.Positive(t, r[name], name)
	}
	if runtime.GOOS == "linux" {
		require.Positive(t, r["peak_bytes"])
	}
	code, stdout, stderr = runApp(cli.Default(), "pack", tiny, dir+"2")
	require.Zero(t, code, stderr)
	require.Regexp(t, `^`+dir+`2: olmoe, [\d.]+ KiB of weights packed as w4 into [\d.]+ KiB in [\d.]+ s \([\d.]+ [KMG]?i?B/s\)`, stdout)

	code, _, stderr = runApp(cli.Default(), "pack", tiny, dir)
	require.Equal(t, 1, code)
	require.Equal(t, "estream: create "+dir+": it is there already, and a package is never written over; remove it or name another: file already exists\n", stderr)
}

// A halting checkpoint gives so many reads, then makes a file and waits to be cancelled.
type halting struct {
	checkpoint.Checkpoint
	left *atomic.Int32
	file string
}

func (h halting) Read(ctx context.Context, name string, row, rows int, dst []float32) error {
	if h.left.Add(-1) >= 0 {
		return h.Checkpoint.Read(ctx, name, row, rows, dst)
	}
	if err := os.WriteFile(h.file, nil, 0o666); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func halts(reads int32, file string) *cli.App {
	a, left := cli.Default(), new(atomic.Int32)
	left.Store(reads)
	a.Formats = []checkpoint.Format{{Name: "halting", Match: checkpoint.SafeTensors.Match, Open: func(path string, o checkpoint.Options) (checkpoint.Checkpoint, error) {
		c, err := checkpoint.SafeTensors.Open(path, o)
		return halting{c, left, file}, err
	}}}
	return a
}

const interruptedDir = "CLI_TEST_INTERRUPTED_DIR"

// Ctrl-C in the middle says how to go on, and the same command does.
func TestPackInterrupted(t *testing.T) {
	if dir := os.Getenv(interruptedDir); dir != "" {
		os.Exit(cli.Main(halts(30, dir+".halted"), []string{"pack", "--workers", "2", tiny, dir})) // when some records are whole
	}
	if runtime.GOOS == "windows" {
		t.Skip("there is no interrupt to send here")
	}
	dir := filepath.Join(t.TempDir(), "pkg")
	cmd := exec.Command(os.Args[0], "-test.run=^TestPackInterrupted$")
	cmd.Env = append(os.Environ(), interruptedDir+"="+dir)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir + ".halted")
		return err == nil
	}, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	cmd.Wait()
	require.Equal(t, 130, cmd.ProcessState.ExitCode(), stderr.String())
	require.Regexp(t, `^`+dir+` is unfinished, [\d.]+ % of it is kept; run the same command again to go on, or with --restart to begin anew\nestream: interrupted\n$`, unhurriedEnd(stderr.String()))
	require.Empty(t, stdout.String())

	code, _, e := runApp(cli.Default(), "pack", "--encoding", "w8", tiny, dir)
	require.Equal(t, 1, code)
	require.Regexp(t, `^estream: create `+dir+`: `+dir+`\.partial was begun with other arguments or from other sources: encoding was w4 \(.*\) and is now w8 \(.*\); repeat the first, or discard it with --restart: file already exists\n$`, e)
	code, _, e = runApp(cli.Default(), "run", "--tokens", "1", dir)
	require.Equal(t, 1, code)
	require.Equal(t, "estream: "+dir+" was never finished; run the same estream pack again, which goes on with "+dir+".partial: not a package\n", e)

	copied := filepath.Join(t.TempDir(), "pkg")
	require.NoError(t, os.CopyFS(copied+".partial", os.DirFS(dir+".partial")))
	code, out, e := runApp(cli.Default(), "pack", tiny, dir)
	require.Zero(t, code, e)
	require.Regexp(t, `^going on where an earlier run stopped: [\d.]+ KiB of [\d.]+ KiB were made\n$`, e)
	require.Regexp(t, `after the [\d.]+ % that an earlier run had made`, out)
	code, _, e = runApp(cli.Default(), "pack", "--restart", tiny, copied)
	require.Zero(t, code, e)
	require.Empty(t, e)
	requireSame(t, copied, dir)
}

// A device is a backend that has a name and a packing.
type device struct{ lower.Backend }

func (device) Name() string              { return "npu" }
func (device) Packings() []lower.Packing { return lowertest.NewNPU().Packings() }

func TestRepack(t *testing.T) {
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "npu", New: func(lower.Backend) lower.Backend { return device{} }}}
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	forHost, forNPU, want, again := at("host"), at("npu"), at("want"), at("again")
	for _, c := range []struct {
		args []string
		code int
		out  string // regular expressions
		err  string
	}{
		{[]string{"pack", tiny, forHost}, 0, ``, ``},
		{[]string{"pack", "--backend", "npu", tiny, want}, 0, ``, ``},
		{[]string{"repack", "--backend", "npu", forHost, forNPU}, 0, `^` + forNPU + `: olmoe, [\d.]+ KiB repacked as npu.kn into [\d.]+ KiB in [\d.]+ s \(`, `^$`},
		{[]string{"repack", "--json", forNPU, again}, 0, `"packing":"host"`, `^$`},
		{[]string{"repack", forHost, at("x")}, 1, `^$`, `^estream: package ` + forHost + `: it is packed as host for host and aligned to 16384 already; copy it, or ask for another backend or alignment\n$`},
		{[]string{"repack", "--align", "65536", forHost, at("x")}, 0, `: olmoe, [\d.]+ KiB repacked as host into [\d.]+ MiB in [\d.]+ s \(`, `^$`},
		{[]string{"repack", forHost, forNPU}, 1, `^$`, `it is packed as host for host`},
		{[]string{"repack", "--backend", "npu", forHost, forNPU}, 1, `^$`, `^estream: create ` + forNPU + `: it is there already`},
		{[]string{"repack", "--backend", "gpu", forHost, at("x")}, 2, `^$`, `^estream: unknown backend "gpu": use one of host, npu\n$`},
		{[]string{"repack", forHost}, 2, `^$`, `^estream: accepts 2 arg\(s\), received 1: usage: estream repack \[flags\] PACKAGE NEW\n$`},
	} {
		code, out, err := runApp(a, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, err)
		require.Regexp(t, c.out, out, "%v", c.args)
		require.Regexp(t, c.err, err, "%v", c.args)
	}
	requireSame(t, want, forNPU)
	requireSame(t, forHost, again)
}
