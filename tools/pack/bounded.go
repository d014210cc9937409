package pack

import (
	"context"
	"io"
	goruntime "runtime"
	"sync"

	"golang.org/x/sync/semaphore"

	"estream/ir"
)

// Memory is about the most that a conversion takes, in bytes: who wants it held
// sets Go's memory limit to it. Only a single matrix of more than 80 million
// elements may take more, and then only one that a checkpoint has stacked, or one
// of a plain type in a packing that does not arrange blocks of rows one by one.
const Memory = 896 << 20

// budget is what the weights in work may take together; the rest of Memory is
// for what the garbage collector has not yet found.
const budget = 576 << 20

// bounded makes no more at a time than there are workers and than memory is for,
// and tells how far it has come.
type bounded struct {
	maker
	workers  *semaphore.Weighted
	memory   *semaphore.Weighted
	progress *progress
}

func (b bounded) record(ctx context.Context, t task, out io.Writer) (factors []float32, err error) {
	err = b.do(ctx, t, func() error {
		factors, err = b.maker.record(ctx, t, out)
		return err
	})
	return factors, err
}

func (b bounded) rows(ctx context.Context, t task) (data []byte, err error) {
	err = b.do(ctx, t, func() error {
		data, err = b.maker.rows(ctx, t)
		return err
	})
	return data, err
}

func (b bounded) do(ctx context.Context, t task, work func() error) error {
	if err := b.workers.Acquire(ctx, 1); err != nil {
		return err
	}
	defer b.workers.Release(1)
	n := min(b.cost(t), budget)
	if err := b.memory.Acquire(ctx, n); err != nil {
		return err
	}
	defer b.memory.Release(n)
	if err := work(); err != nil {
		return err
	}
	b.progress.add(t.bytes)
	return nil
}

// collect finds garbage now, where so many bytes are about to be needed, or to
// become garbage: they come in so few pieces that the collector would be late.
func collect(bytes int64) {
	if bytes >= budget/8 {
		goruntime.GC()
	}
}

// A progress counts what is made, and tells of it.
type progress struct {
	mu          sync.Mutex
	done, total int64
	tell        func(done, total int64)
}

func (p *progress) add(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done += n; p.tell != nil {
		p.tell(p.done, p.total)
	}
}

// heldBytes is what a quant.Matrix of n elements takes, scales apart.
func heldBytes(d ir.DType, n int64) int64 {
	if d.Encoded() {
		return n
	}
	return 4 * n
}
