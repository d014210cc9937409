package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/pager"
	"estream/passes"
	"estream/runtime"
	"estream/tools/calibrate"
)

// lines writes a file of lines.
func lines(t *testing.T, l ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(l, "\n")+"\n"), 0o600))
	return path
}

// sequence is n ids that step from one to the next.
func sequence(n, from, step int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint((from+i*step)%160))
	}
	return strings.Join(out, ",")
}

// TestRoutingOfRuns sizes a device by the package's calibration, and tells of text
// that is routed otherwise.
func TestRoutingOfRuns(t *testing.T) {
	npu := lowertest.NewNPU()
	b := static.New(npu, passes.Tiers{T: []int{16}, S: []int{1, 64}, R: []int{64}})
	var notes bytes.Buffer
	a := Default()
	a.Stdout, a.Stderr = new(bytes.Buffer), &notes
	a.Backends = []Backend{{Name: "npu", New: func(lower.Backend) lower.Backend { return b }}}
	dir := filepath.Join(t.TempDir(), "p")
	require.Zero(t, Main(a, []string{"pack", "--encoding", "f32", "--backend", "npu", "../../testdata/olmoe", dir}), notes.String())
	var text []string
	for i := range 12 {
		text = append(text, sequence(32, i, 1+i))
	}
	notes.Reset()
	require.Zero(t, Main(a, []string{"calibrate", "--batch", "32", "--tiers", "2", "--launch-us", "10", "--body-us", "1", "--row-us", "1", "--host-expert-us", "1", "--host-row-us", "3", "--tokens-file", lines(t, text...), dir}), notes.String())

	run := func(o runtime.Options, ids ...int32) (*routing, []string) {
		r := a.newRouting()
		r.use(dir, &o)
		m, err := runtime.Open(t.Context(), dir, o)
		require.NoError(t, err)
		defer m.Close()
		_, err = m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{ids}, Logits: runtime.Last})
		require.NoError(t, err)
		return r, r.notes()
	}
	ids, err := parseTokens(sequence(32, 3, 4))
	require.NoError(t, err)
	_, said := run(runtime.Options{Packings: b.Packings()}, ids...)
	require.Empty(t, said)
	same := bytes.Repeat([]byte("7,"), 32)
	odd, err := parseTokens(string(same))
	require.NoError(t, err)
	_, said = run(runtime.Options{Packings: b.Packings()}, odd...)
	require.Len(t, said, 1)
	require.Regexp(t, `^routing drifts from the calibration in \d of 3 layers, by total variation: layer \d \(0\.\d\d over 32 tokens, threshold 0\.\d\d\)`, said[0])

	ran := npu.Runs()
	_, said = run(runtime.Options{Host: host.New(host.Options{}), Device: b}, ids...)
	require.Empty(t, said)
	require.Greater(t, npu.Runs(), ran)
	require.Zero(t, npu.Live(), "device memory that nobody freed")

	benched := func() int {
		ran := npu.Runs()
		require.Zero(t, Main(a, []string{"bench", "-p", "32", "-r", "1", "--no-warmup", "--plan", "off", "--backend", "npu", dir}), notes.String())
		return npu.Runs() - ran
	}
	calibrated := benched()
	require.Positive(t, calibrated)
	require.NoError(t, os.WriteFile(filepath.Join(dir, calibrate.Name), []byte("{}"), 0o600))
	require.NotEqual(t, calibrated, benched(), "launches of bench, with the calibration and without")
	notes.Reset()
	r, said := run(runtime.Options{Packings: b.Packings()}, 1)
	require.Nil(t, r.watch)
	require.Empty(t, said)
	require.Contains(t, notes.String(), "note: the calibration is not used: ")
	require.NoError(t, os.Remove(filepath.Join(dir, calibrate.Name)))
	r, _ = run(runtime.Options{Packings: b.Packings()}, 1)
	require.Nil(t, r.watch)
	var nobody *routing
	nobody.use(dir, nil)
	require.Empty(t, nobody.notes())
}

// stopping is a source that stops the command after so many reads.
type stopping struct {
	pager.Source
	left *atomic.Int64
	stop func()
}

func (s stopping) ReadAt(ctx context.Context, p []byte, off int64) error {
	if s.left.Add(-1) == 0 {
		s.stop()
	}
	return s.Source.ReadAt(ctx, p, off)
}

// TestCalibrateInterrupted: what was counted before the signal is kept, but in place of
// nothing that is whole.
func TestCalibrateInterrupted(t *testing.T) {
	var out, notes bytes.Buffer
	a := Default()
	a.Stdout, a.Stderr = &out, &notes
	dir := filepath.Join(t.TempDir(), "p")
	require.Zero(t, Main(a, []string{"pack", "--encoding", "f32", "../../testdata/olmoe", dir}), notes.String())
	tokens := lines(t, sequence(160*20, 0, 7))
	interrupt := func(reads int64, more ...string) {
		ctx, stop := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(reads)
		a.Sources = []Source{{Name: "stopping", Open: func(_, path string) (pager.Source, error) {
			f, err := pager.OpenFile(path)
			return stopping{f, &left, stop}, err
		}}}
		root := a.root()
		root.SetArgs(append([]string{"calibrate", "--batch", "16", "--threads", "1", "--source", "stopping", "--tokens-file", tokens, dir}, more...))
		out.Reset()
		notes.Reset()
		require.ErrorIs(t, root.ExecuteContext(ctx), context.Canceled)
	}
	kept := func(path string) *calibrate.Calibration {
		c, err := calibrate.Read(path, dir)
		require.NoError(t, err)
		return c
	}
	within := filepath.Join(dir, calibrate.Name)
	interrupt(2)
	require.Nil(t, kept(within))
	for range 2 { // an interrupted one is replaced
		interrupt(200)
		got := kept(within)
		require.True(t, got.Interrupted)
		require.Equal(t, 0, got.Batches%8, "whole runs of eight batches")
		require.Less(t, got.Tokens, 160*20)
		require.Equal(t, fmt.Sprintf("note: interrupted after %d batches, which are kept\n", got.Batches), notes.String())
		require.Contains(t, out.String(), "choice ")
	}

	require.Zero(t, Main(a, []string{"calibrate", "--batch", "16", "--tokens-file", tokens, dir}), notes.String())
	whole := kept(within)
	require.False(t, whole.Interrupted)
	interrupt(200)
	require.Equal(t, whole, kept(within))
	require.Regexp(t, `^note: interrupted after \d+ batches, which are not kept: \S+/calibration\.json, by the whole of its text, stays; -o FILE keeps them in another place\n$`, notes.String())
	require.Contains(t, out.String(), "kept      "+within+", as it was\n")
	elsewhere := filepath.Join(t.TempDir(), "part.json")
	interrupt(200, "-o", elsewhere)
	require.True(t, kept(elsewhere).Interrupted)
	require.Equal(t, whole, kept(within))
	left, err := filepath.Glob(within + ".*")
	require.NoError(t, err)
	require.Empty(t, left)
}
