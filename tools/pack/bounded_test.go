package pack

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"estream/pager/layout"
)

// A counter makes tasks of some cost, and counts how many at a time.
type counter struct {
	maker
	each      int64
	now, most atomic.Int64
	wait      chan struct{}
}

func (c *counter) cost(task) int64 { return c.each }

func (c *counter) record(context.Context, task, io.Writer) ([]float32, error) {
	n := c.now.Add(1)
	defer c.now.Add(-1)
	for m := c.most.Load(); n > m && !c.most.CompareAndSwap(m, n); m = c.most.Load() {
	}
	<-c.wait
	return nil, nil
}

// Records in work are no more than the workers, and take no more than the budget
// together; one that is larger is made alone.
func TestBudget(t *testing.T) {
	for each, want := range map[int64]int64{budget / 8: 5, budget / 3: 3, budget/2 + 1: 1, 3 * budget: 1} {
		c := &counter{each: each, wait: make(chan struct{})}
		b := bounded{c, semaphore.NewWeighted(5), semaphore.NewWeighted(budget), &progress{}}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, err := b.record(t.Context(), task{bytes: 5}, io.Discard)
				require.NoError(t, err)
			})
		}
		for range 8 {
			c.wait <- struct{}{}
		}
		wg.Wait()
		require.LessOrEqual(t, c.most.Load(), want, "records of %d bytes", each)
		require.EqualValues(t, 40, b.progress.done)
	}
}

// Who waits for memory stops when the conversion does.
func TestBudgetStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, n := range [][2]int64{{0, 1}, {1, 0}} {
		b := bounded{&counter{each: 1}, semaphore.NewWeighted(n[0]), semaphore.NewWeighted(n[1]), &progress{}}
		_, err := b.record(ctx, task{}, io.Discard)
		require.ErrorIs(t, err, context.Canceled)
	}
}

// Companions count in full where room is looked for.
func TestBesideBytes(t *testing.T) {
	j := &job{companions: []companion{{name: "tokenizer.json", size: 1 << 20}}, man: layout.Manifest{Module: "module", Experts: make([]layout.Record, 1000)}}
	require.Greater(t, j.besideBytes(), int64(1<<20+1000*100))
}
