package pager_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/pagertest"
)

// limit shares one rate between n sources of a mebibyte.
func limit(t *testing.T, n int, bytes float64, burst int64) []pager.Source {
	t.Helper()
	rate, err := pager.NewRate(bytes, burst)
	require.NoError(t, err)
	sources := make([]pager.Source, n)
	for i := range sources {
		sources[i] = pager.Limit(pagertest.NewMem(fmt.Sprint(i), make([]byte, 1<<20), 1), rate)
	}
	return sources
}

// TestLimitRate: what passes in a second is the rate within 1 %, whatever the readers and their reads. Time passes only
// while everybody sleeps, so that a limit that span would never get there.
func TestLimitRate(t *testing.T) {
	const rate = 20e6
	for _, readers := range []int{1, 2, 7} {
		for _, size := range []int{1 << 10, 16 << 10, 100_000, 1 << 20} {
			synctest.Test(t, func(t *testing.T) {
				sources := limit(t, readers, rate, 0)
				var group sync.WaitGroup
				begun, each := time.Now(), int(math.Ceil(rate/float64(readers*size)))
				for _, src := range sources {
					group.Go(func() {
						p := make([]byte, size)
						for range each {
							if err := src.ReadAt(t.Context(), p, 0); err != nil {
								t.Error(err)
							}
						}
					})
				}
				group.Wait()
				got := float64(each*readers*size) / time.Since(begun).Seconds()
				require.InEpsilon(t, rate, got, 0.01, "%d readers of %d bytes: bytes a second", readers, size)
			})
		}
	}
}

// TestLimitLate: a reader who comes back a little late, as timers make it, loses nothing; idle time beyond the burst is lost.
func TestLimitLate(t *testing.T) {
	for pause, want := range map[time.Duration]float64{
		0:                     10e6,
		4 * time.Millisecond:  10e6,
		15 * time.Millisecond: 5e6, // a read takes 10 ms, of which 5 are earned beforehand
	} {
		synctest.Test(t, func(t *testing.T) {
			src, begun := limit(t, 1, 10e6, 0)[0], time.Now()
			for range 100 {
				require.NoError(t, src.ReadAt(t.Context(), make([]byte, 100_000), 0))
				time.Sleep(pause)
			}
			require.InEpsilon(t, want, 100*100_000/time.Since(begun).Seconds(), 0.01, "%v late: bytes a second", pause)
		})
	}
}

// TestLimitBurst: an idle minute earns the burst and no more.
func TestLimitBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := limit(t, 1, 1000, 500)[0]
		for _, want := range []time.Duration{500 * time.Millisecond, time.Second, time.Second} {
			begun := time.Now()
			require.NoError(t, src.ReadAt(t.Context(), make([]byte, 1000), 0))
			require.Equal(t, want, time.Since(begun))
		}
		time.Sleep(time.Minute)
		begun := time.Now()
		require.NoError(t, src.ReadAt(t.Context(), make([]byte, 500), 0))
		require.Zero(t, time.Since(begun))
	})
}

// TestLimitFair: readers of several files get equal shares at any moment, and nobody waits for more than one read of each.
func TestLimitFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, size, rate = 5, 10_000, 1e6 // 10 ms a read
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var group sync.WaitGroup
		counts := make([]int, readers)
		for i, src := range limit(t, readers, rate, 1) {
			group.Go(func() {
				for {
					begun := time.Now()
					if src.ReadAt(ctx, make([]byte, size), 0) != nil {
						return
					}
					counts[i]++
					if waited := time.Since(begun); waited > readers*10*time.Millisecond {
						t.Errorf("reader %d waited %v", i, waited)
					}
				}
			})
		}
		group.Wait()
		for i, n := range counts {
			require.InDelta(t, 200, n, 1, "reads of reader %d among %v", i, counts)
		}
	})
}

func TestLimitCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, why := limit(t, 1, 1, 0)[0], errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		begun := time.Now()
		require.Equal(t, why, src.ReadAt(ctx, make([]byte, 1<<20), 0))
		require.Equal(t, time.Second, time.Since(begun))
	})
}

// TestLimitSource: all but the time is the source's, its errors come at once.
func TestLimitSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate, err := pager.NewRate(1, 0)
		require.NoError(t, err)
		mem := noted{pagertest.NewFaulty(pagertest.NewMem("m", make([]byte, 64), 16), pagertest.Fault{Kind: pagertest.EIO})}
		src, begun := pager.Limit(mem, rate), time.Now()
		require.ErrorIs(t, src.ReadAt(t.Context(), make([]byte, 16), 0), syscall.EIO)
		require.Zero(t, time.Since(begun))
		require.Equal(t, []any{"m", int64(64), int64(16), "a note"}, []any{src.Name(), src.Size(), src.Align(), pager.Note(src)})
		require.ErrorIs(t, src.Close(), errNoted)
	})
}

// noted is a source with a note, and an error to close with.
type noted struct{ *pagertest.Faulty }

var errNoted = errors.New("closed")

func (noted) Note() string { return "a note" }
func (noted) Close() error { return errNoted }

func TestRateRefused(t *testing.T) {
	for _, bytes := range []float64{0, -1, 0.5, math.NaN(), math.Inf(1)} {
		_, err := pager.NewRate(bytes, 0)
		require.Error(t, err, "%v bytes a second", bytes)
	}
	_, err := pager.NewRate(1, -1)
	require.Error(t, err)
}
