package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/layout"
	"estream/pager/pagertest"
	"estream/runtime"
)

// A scripted is a model whose files go wrong by a script. It lives inside a bubble of synctest: the clock is fake, a run that
// can never end is a panic that shows all goroutines, and so is a goroutine that is left when the bubble ends.
type scripted struct {
	*faulty
	t        *testing.T
	m        *runtime.Model
	files    map[string]*pagertest.Faulty // by base name
	memory   *counting
	patience time.Duration // of a run; what is late or tried again takes far less than the hour
	what     string
}

// slow makes every read take a millisecond, so that guesses are in flight when routes are known.
func slow(src pager.Source) pager.Source {
	return pagertest.NewFaulty(src, pagertest.Fault{Kind: pagertest.Slow, Times: -1, Delay: time.Millisecond})
}

func (f *faulty) scripted(t *testing.T, o runtime.Options, s pagertest.Script) *scripted {
	x := &scripted{faulty: f, t: t, files: map[string]*pagertest.Faulty{}, memory: newCounting(), patience: time.Hour}
	x.what = fmt.Sprintf("%v Q=%d B=%d G=%d chunk=%d memory=%d\n%v", o.Schedule, o.Readers, o.Banks, o.Group, o.Chunk, o.Memory, s)
	o.Host = x.memory
	o.Source = func(path string) (pager.Source, error) {
		src, err := f.source(path)
		x.files[filepath.Base(path)] = s.On(slow(src))
		return x.files[filepath.Base(path)], err
	}
	m, err := runtime.Open(t.Context(), f.dir, o)
	require.NoError(t, err, x.what)
	x.m = m
	return x
}

// run gives the right bits, or an error that names file, record and offset, or what the deadline caused.
func (x *scripted) run() error {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), x.patience)
	defer cancel()
	res, err := x.m.Run(ctx, x.batch)
	if err == nil {
		requireBits(x.t, x.want, res.Logits, "%s", x.what)
		return nil
	}
	var rec *pager.RecordError
	switch {
	case errors.Is(err, runtime.ErrMemory):
	case errors.Is(err, context.DeadlineExceeded):
		require.True(x.t, ctx.Err() != nil, "%s: %v, before the deadline", x.what, err)
	case errors.As(err, &rec):
		require.Contains(x.t, []string{layout.ExpertsName, layout.DenseName}, filepath.Base(rec.File), "%s: %v", x.what, err)
		require.NotEmpty(x.t, rec.Record, "%s: %v", x.what, err)
		require.True(x.t, isOne(err, known), "%s: %v", x.what, err)
	default:
		x.t.Fatalf("%s: %v names no record", x.what, err)
	}
	return err
}

var known = []error{syscall.EIO, io.ErrUnexpectedEOF, pager.ErrChecksum, pager.ErrTruncated, fs.ErrNotExist}

// heal ends what is wrong, has the same model run once more, and looks for memory that nobody freed.
func (x *scripted) heal() {
	x.t.Helper()
	for _, f := range x.files {
		f.Heal()
	}
	time.Sleep(time.Minute) // for reads that hung
	x.patience = time.Hour
	if err := x.run(); !errors.Is(err, runtime.ErrMemory) {
		require.NoError(x.t, err, "%s: a run after it", x.what)
	}
	require.NoError(x.t, x.m.Close(), x.what)
	time.Sleep(time.Minute) // for reads that nobody waits for
	require.Zero(x.t, x.memory.live.Load(), "%s: bytes that are not freed", x.what)
}

func (x *scripted) fired() int {
	return x.files[layout.ExpertsName].Fired() + x.files[layout.DenseName].Fired()
}

// TestEveryRead has each kind of fault at every read of a run, in turn, once and for good.
func TestEveryRead(t *testing.T) {
	f := newFaulty(t)
	times, kinds := []int{1, -1}, pagertest.Kinds()
	if raced || testing.Short() {
		times = times[1:]
	}
	for _, schedule := range schedules {
		o := runtime.Options{Schedule: schedule, Readers: 1, Banks: 2, Group: 2, Chunk: 7}
		reads := f.count(t, o)
		require.Greater(t, len(reads), 15, "%v: places", schedule)
		fired := 0
		for _, at := range reads {
			for _, kind := range kinds {
				for _, n := range times {
					at.Kind, at.Times, at.Delay = kind, n, time.Second
					synctest.Test(t, func(t *testing.T) {
						x := f.scripted(t, o, pagertest.Script{at})
						x.expect(at, x.run(), schedule == pager.BeforeRouting || schedule == pager.Guessed)
						fired += min(1, x.fired())
						x.heal()
					})
				}
			}
		}
		all := len(reads) * len(kinds) * len(times)
		t.Logf("%v: %d faults at %d reads, %d fired", schedule, all, len(reads), fired)
		require.GreaterOrEqual(t, fired, all*9/10, "%v: faults that fired", schedule)
	}
}

// count is a place for each read of a run without faults.
func (f *faulty) count(t *testing.T, o runtime.Options) []pagertest.Line {
	var places []pagertest.Line
	synctest.Test(t, func(t *testing.T) {
		x := f.scripted(t, o, nil)
		require.NoError(t, x.run())
		for name, file := range x.files {
			for i := range file.Reads() {
				places = append(places, pagertest.Line{File: name, Fault: pagertest.Fault{Read: i}})
			}
		}
		x.heal()
	})
	return places
}

// expect compares what a run with one fault came to with what it must: nothing where reading again helps.
func (x *scripted) expect(at pagertest.Line, err error, guess bool) {
	x.t.Helper()
	if x.fired() == 0 {
		require.NoError(x.t, err, x.what)
		return
	}
	once := at.Times == 1
	want := map[pagertest.Kind]error{
		pagertest.EIO: syscall.EIO, pagertest.Short: io.ErrUnexpectedEOF, pagertest.Flip: pager.ErrChecksum,
		pagertest.Truncated: pager.ErrTruncated, pagertest.Removed: fs.ErrNotExist,
		pagertest.Stall: context.DeadlineExceeded, pagertest.Hang: context.DeadlineExceeded,
	}[at.Kind]
	switch at.Kind {
	case pagertest.EIO, pagertest.Short, pagertest.Flip:
		if once {
			want = nil
		}
	}
	if want == nil {
		require.NoError(x.t, err, x.what)
	} else if err != nil || !guess { // a guess that nobody wanted fails unseen
		require.ErrorIs(x.t, err, want, x.what)
	}
}
