package cli_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/pager"
	"estream/passes"
	"estream/tools/cli"
)

// read counts the bytes that come through it.
type read struct {
	pager.Source
	n *atomic.Int64
}

func (r read) ReadAt(ctx context.Context, p []byte, off int64) error {
	r.n.Add(int64(len(p)))
	return r.Source.ReadAt(ctx, p, off)
}

// A device runs beside the host, in its own packing, which the host reads too; a
// source is read from, with what stands behind its name.
func TestBackendsAndSources(t *testing.T) {
	npu, bytes, argument := lowertest.NewNPU(), new(atomic.Int64), ""
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "npu", New: func(lower.Backend) lower.Backend {
		return static.New(npu, passes.Tiers{T: []int{4, 16}, S: []int{16, 64}, R: []int{2, 8}})
	}}}
	a.Sources = []cli.Source{{Name: "counted", Open: func(with, path string) (pager.Source, error) {
		argument = with
		f, err := pager.OpenFile(path)
		return read{f, bytes}, err
	}}}
	dir := filepath.Join(t.TempDir(), "p")
	succeeds := func(args ...string) string {
		t.Helper()
		code, out, e := runApp(a, args...)
		require.Zero(t, code, "%v: %s", args, e)
		return out
	}
	succeeds("pack", "--encoding", "f32", "--backend", "npu", tiny, dir)
	for _, command := range [][]string{{"run", "--tokens", "1,2,3"}, {"check", "--golden", goldens}, {"bench", "-p", "3", "-r", "1"}} {
		before := npu.Runs()
		succeeds(append(command, dir)...)
		require.Equal(t, before, npu.Runs(), "%v on the host", command)
		succeeds(append(command, "--backend", "npu", dir)...)
		require.Greater(t, npu.Runs(), before, "%v", command)
	}
	require.Zero(t, npu.Live(), "device memory that nobody freed")
	require.Contains(t, succeeds("bench", "-p", "3", "-r", "1", "--backend", "npu", "-o", "jsonl", dir), `"backends":"npu,host"`)

	require.Zero(t, bytes.Load())
	succeeds("run", "--tokens", "1,2,3", "--source", "counted=a=b", dir)
	require.Equal(t, "a=b", argument)
	require.Positive(t, bytes.Load())
	succeeds("run", "--tokens", "1,2,3", "--source", "file", dir)
	code, _, e := runApp(a, "bench", "--source", "tape", dir)
	require.Equal(t, 2, code)
	require.Equal(t, "estream: unknown source \"tape\": use one of file, counted\n", e)
}
