package pack

import (
	"context"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"

	"estream/ir"
)

// Memory is about the most that a conversion takes beside the program itself, in
// bytes: who wants it held sets Go's memory limit to it. Only a single matrix of
// a plain type with more than some 100 million elements takes more.
const Memory = 896 << 20

// budget is what the weights in work may take together; the rest of Memory is
// for what the garbage collector has not yet found.
const budget = 576 << 20

// bounded makes no more at a time than memory is for, and tells how far it has come.
type bounded struct {
	maker
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
