package runtime_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/pager"
	"estream/pager/layout"
	"estream/pager/pagertest"
	"estream/runtime"
)

// A place is bytes of a package that a run of the prompts reads.
type place struct {
	name string
	file string
	off  int64 // of the record
	at   int64 // of a byte in its payload
}

// A faulty is a package whose files fail, and what it gives where they do not.
type faulty struct {
	dir    string
	batch  runtime.Batch
	want   []float32
	places []place
	source func(string) (pager.Source, error)
}

func newFaulty(t *testing.T) *faulty {
	dir := packed(t, tiny, "w4")
	f := &faulty{dir: dir, batch: runtime.Batch{Prompts: openGolden(t).ragged(), Logits: runtime.All}, source: inMemory(t, dir)}
	wanted := -1 // the last expert of layer 1 that has rows
	m := open(t, dir, runtime.Options{Taps: []string{"experts.ids"}, Tap: func(x runtime.Tap) {
		for _, id := range lower.I32(x.Buffer.Bytes()) {
			if x.Layer == 1 {
				wanted = max(wanted, int(id))
			}
		}
	}})
	f.want = run(t, m, f.batch).Logits
	man := m.Manifest()
	expert, dense := man.Experts[8+wanted], man.Dense
	add := func(name, file string, off, n int64) {
		f.places = append(f.places, place{name, filepath.Join(dir, file), off, off + n/2})
	}
	add("expert", layout.ExpertsName, expert.Offset, expert.Length)
	add("dense record", layout.DenseName, dense[1].Offset, dense[1].Length)
	add("norm of the head", layout.DenseName, dense[3].Offset, dense[3].Length)
	add("run of the head", layout.DenseName, dense[4].Offset, dense[4].Length)
	add("block of embeddings", layout.DenseName, man.Rows[0].Offset, man.Rows[0].Size())
	return f
}

// open opens the package with faults in the file of a place; the Faulty counts
// its reads.
func (f *faulty) open(t *testing.T, o runtime.Options, file string, faults ...pagertest.Fault) (*runtime.Model, *pagertest.Faulty) {
	t.Helper()
	var bad *pagertest.Faulty
	o.Source = func(path string) (pager.Source, error) {
		src, err := f.source(path)
		if err != nil || path != file {
			return src, err
		}
		bad = pagertest.NewFaulty(src, faults...)
		return bad, nil
	}
	return open(t, f.dir, o), bad
}

var schedules = []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.OnDemand, pager.Guessed}

// TestFaultsOnce: what goes wrong once is read again, and nothing comes of it.
func TestFaultsOnce(t *testing.T) {
	f := newFaulty(t)
	for _, schedule := range schedules {
		for _, p := range f.places {
			for _, kind := range []pagertest.Kind{pagertest.EIO, pagertest.Short, pagertest.Flip, pagertest.Slow} {
				m, bad := f.open(t, runtime.Options{Schedule: schedule}, p.file, pagertest.Fault{Kind: kind, Read: -1, Off: p.at, Delay: time.Millisecond})
				requireBits(t, f.want, run(t, m, f.batch).Logits, "%v, fault %d in the %s", schedule, kind, p.name)
				if kind != pagertest.Slow {
					require.GreaterOrEqual(t, readsOf(bad, p.at), 2, "%v, fault %d in the %s: reads", schedule, kind, p.name)
				}
			}
		}
	}
}

// TestFaultsAlways: what stays wrong is an error that names file, record and
// offset. Once it is over, the same model gives the right logits.
func TestFaultsAlways(t *testing.T) {
	pagertest.CheckLeaks(t)
	f := newFaulty(t)
	kinds := []struct {
		kind  pagertest.Kind
		times int // reads after which it is given up
		want  error
	}{
		{pagertest.EIO, 4, syscall.EIO},
		{pagertest.Short, 4, io.ErrUnexpectedEOF},
		{pagertest.Flip, 2, pager.ErrChecksum},
		{pagertest.Truncated, 1, pager.ErrTruncated},
		{pagertest.Removed, 1, fs.ErrNotExist},
	}
	for _, schedule := range schedules {
		for _, p := range f.places {
			for _, k := range kinds {
				m, _ := f.open(t, runtime.Options{Schedule: schedule, Group: 1}, p.file, pagertest.Fault{Kind: k.kind, Read: -1, Off: p.at, Times: k.times})
				_, err := m.Run(t.Context(), f.batch)
				require.ErrorIs(t, err, k.want, "%v, %s", schedule, p.name)
				var rec *pager.RecordError
				require.ErrorAs(t, err, &rec, "%v, %s", schedule, p.name)
				require.Equal(t, []any{p.file, p.off}, []any{rec.File, rec.Off}, "%v, %s: %v", schedule, p.name, err)
				require.NotEmpty(t, rec.Record, "%v, %s: %v", schedule, p.name, err)
				requireBits(t, f.want, run(t, m, f.batch).Logits, "%v, %s: a run after %v", schedule, p.name, err)
			}
		}
	}
}

// TestFaultNames are errors as users see them.
func TestFaultNames(t *testing.T) {
	f := newFaulty(t)
	want := []string{
		"layer 1: DIR/experts.bin: stage 1 expert 7 at offset 245760: CRC-32C ",
		"layer 1: DIR/dense.bin: stage 1 dense 0 at offset 32768: CRC-32C ",
		"head: DIR/dense.bin: stage 3 dense 0 at offset 98304: CRC-32C ",
		"head: run 0: DIR/dense.bin: stage 3 dense 1 at offset 114688: CRC-32C ",
		"embeddings: DIR/dense.bin: table embed.weight, block 0 at offset 131072: CRC-32C ",
	}
	for i, p := range f.places {
		m, _ := f.open(t, runtime.Options{Group: 1}, p.file, pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: p.at, Times: 2})
		_, err := m.Run(t.Context(), f.batch)
		require.Error(t, err)
		got := strings.ReplaceAll(err.Error(), f.dir, "DIR")
		got, told := strings.CutPrefix(got, "the package is damaged; copy or pack it again: ")
		if !told || !strings.HasPrefix(got, want[i]) || !strings.HasSuffix(got, " read twice: checksum mismatch") {
			t.Errorf("%s: %s, want %s... read twice: checksum mismatch", p.name, got, want[i])
		}
	}
}

// TestStall cancels runs that wait for a read: they end, and so do their
// readers, and the model works on.
func TestStall(t *testing.T) {
	pagertest.CheckLeaks(t)
	f := newFaulty(t)
	for _, schedule := range schedules {
		for _, p := range f.places {
			m, bad := f.open(t, runtime.Options{Schedule: schedule}, p.file, pagertest.Fault{Kind: pagertest.Stall, Read: -1, Off: p.at})
			require.ErrorIs(t, cancelAt(t, m, bad, f.batch, p.at), context.Canceled, "%v, %s", schedule, p.name)
			requireBits(t, f.want, run(t, m, f.batch).Logits, "%v, a run after a stall in the %s", schedule, p.name)
		}
	}
}

// TestHang: a read that returns late, whatever the context says, holds up
// neither the run that is cancelled nor the next, and writes to neither.
func TestHang(t *testing.T) {
	pagertest.CheckLeaks(t)
	f := newFaulty(t)
	for _, p := range f.places[:1] { // the others wait as long
		m, bad := f.open(t, runtime.Options{}, p.file, pagertest.Fault{Kind: pagertest.Hang, Read: -1, Off: p.at})
		require.ErrorIs(t, cancelAt(t, m, bad, f.batch, p.at), context.Canceled, p.name)
		requireBits(t, f.want, run(t, m, f.batch).Logits, "a run while a read of the %s hangs", p.name)
		bad.Resume()
		requireBits(t, f.want, run(t, m, f.batch).Logits, "a run after a read of the %s hung", p.name)
	}
}

// cancelAt cancels a run once the byte at off has been asked for.
func cancelAt(t *testing.T, m *runtime.Model, src *pagertest.Faulty, b runtime.Batch, off int64) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := m.Run(ctx, b)
		done <- err
	}()
	asked := func() bool { return readsOf(src, off) > 0 }
	require.Eventually(t, asked, time.Minute, time.Millisecond)
	cancel()
	return <-done
}

// readsOf counts reads of the byte at off.
func readsOf(src *pagertest.Faulty, off int64) int {
	n := 0
	for _, r := range src.Reads() {
		if r.Off <= off && off < r.Off+r.Len {
			n++
		}
	}
	return n
}

// TestFaultsDrawn throws faults at random reads: a run gives the right bits or a
// typed error, and the next one the right bits.
func TestFaultsDrawn(t *testing.T) {
	pagertest.CheckLeaks(t)
	f, draws := newFaulty(t), 60
	if testing.Short() {
		draws = 20
	}
	rng, failed := rand.New(rand.NewPCG(6, 6)), 0
	known := []error{syscall.EIO, io.ErrUnexpectedEOF, pager.ErrChecksum, pager.ErrTruncated, fs.ErrNotExist}
	for i := range draws {
		var faults []pagertest.Fault
		for range 1 + rng.IntN(3) {
			kind := []pagertest.Kind{pagertest.EIO, pagertest.Short, pagertest.Flip, pagertest.Truncated, pagertest.Removed}[rng.IntN(5)]
			faults = append(faults, pagertest.Fault{Kind: kind, Read: rng.IntN(12), Times: 1 + rng.IntN(5)})
		}
		o := runtime.Options{Schedule: schedules[i%4], Readers: 1 + rng.IntN(4), Banks: 1 + rng.IntN(3), Group: 1 + rng.IntN(4), Chunk: 1 + rng.IntN(20)}
		m, _ := f.open(t, o, f.places[i%2].file, faults...)
		for try := 0; ; try++ {
			res, err := m.Run(t.Context(), f.batch)
			if err == nil {
				requireBits(t, f.want, res.Logits, "draw %d: %+v, faults %+v", i, o, faults)
				break
			}
			failed++
			var rec *pager.RecordError
			require.ErrorAs(t, err, &rec, "draw %d: %+v, faults %+v", i, o, faults)
			require.True(t, isOne(err, known), "draw %d: %+v, faults %+v: %v", i, o, faults, err)
			require.Less(t, try, 15, "draw %d: %+v, faults %+v: runs that failed", i, o, faults)
		}
	}
	require.Greater(t, failed, draws/5, "runs that failed")
}

func isOne(err error, of []error) bool {
	for _, e := range of {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// TestFileCut cuts the files of a package: under an open model, and before it is opened.
func TestFileCut(t *testing.T) {
	batch := runtime.Batch{Prompts: openGolden(t).ragged()}
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		dir := packed(t, tiny, "w4")
		path := filepath.Join(dir, name)
		m := open(t, dir, runtime.Options{})
		run(t, m, batch)
		require.NoError(t, os.Truncate(path, 16<<10))
		_, err := m.Run(t.Context(), batch)
		require.ErrorIs(t, err, pager.ErrTruncated, name)

		_, err = runtime.Open(t.Context(), dir, runtime.Options{})
		var broken *layout.Error
		require.ErrorAs(t, err, &broken)
		require.ErrorContains(t, err, name+": was cut: 16384 bytes on disk")
		require.NoError(t, os.Remove(path))
		_, err = runtime.Open(t.Context(), dir, runtime.Options{})
		require.ErrorAs(t, err, &broken)
		require.ErrorContains(t, err, name+": is missing: copy the package again")
	}
}

// TestSourceFails: a source that cannot be opened fails Open, which closes the other.
func TestSourceFails(t *testing.T) {
	dir := packed(t, tiny, "w4")
	src := inMemory(t, dir)
	for _, fails := range []string{layout.ExpertsName, layout.DenseName} {
		opened, closed := 0, 0
		_, err := runtime.Open(t.Context(), dir, runtime.Options{Source: func(path string) (pager.Source, error) {
			if filepath.Base(path) == fails {
				return nil, syscall.EMFILE
			}
			opened++
			s, err := src(path)
			return closing{s, &closed}, err
		}})
		require.ErrorIs(t, err, syscall.EMFILE, fails)
		require.Equal(t, opened, closed, "sources closed")
	}
}

// A closing source counts when it is closed.
type closing struct {
	pager.Source
	n *int
}

func (c closing) Close() error {
	*c.n++
	return c.Source.Close()
}
