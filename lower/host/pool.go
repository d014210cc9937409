package host

import (
	"sync/atomic"

	"estream/lower/host/kernel"
)

// A part computes items from..to-1 of an instruction's loop.
type part func(x *Exec, from, to int) error

// A pool runs one loop at a time on up to threads goroutines, the caller's among
// them. They take runs of items from a counter.
type pool struct {
	threads int
	set     *kernel.Set
	done    <-chan struct{} // closed when the Run under way is cancelled
	team    team
	counts  bool         // the team's time is counted
	idle    atomic.Int64 // nanoseconds; see count

	busy   atomic.Bool // a loop is under way
	x      *Exec
	f      part
	n, run int
	next   atomic.Int64

	items int // of spread
	item  atomic.Int64
	each  func(x *Exec, thread, item int)

	failed atomic.Bool
}

const (
	forkCost  = 1 << 13 // nanoseconds of work from which a loop is worth several goroutines
	pieceCost = 1 << 17 // that a piece of a loop has, at most, where it is more than one item
)

func newPool(threads int, set *kernel.Set) *pool {
	p := &pool{threads: threads, set: set}
	p.team.work, p.team.size = p.take, threads-1
	return p
}

// loop calls f on runs of the items 0..n-1, one of which takes about cost
// nanoseconds. It returns nil early when the Run is cancelled. After an error
// of any piece, f runs again on all items: so the error is that of the lowest one.
func (p *pool) loop(x *Exec, n, cost int, f part) error {
	cost = max(cost, 1)
	threads := p.threads
	if n <= 1 || n < forkCost/cost {
		threads = 1
	}
	run := max(pieceCost/cost, 1)
	if threads > 1 {
		run = min(run, max(n/(4*threads), 1))
	}
	if threads == 1 || !p.busy.CompareAndSwap(false, true) {
		return p.inline(x, n, run, f)
	}
	defer p.busy.Store(false)
	p.x, p.f, p.n, p.run = x, f, n, run
	p.next.Store(0)
	p.failed.Store(false)
	p.round()
	p.x, p.f = nil, nil
	if p.failed.Load() {
		return f(x, 0, n)
	}
	return nil
}

// round has all threads take items. It ends for all of them also where an operator
// from outside panics on the caller's.
func (p *pool) round() {
	p.team.open()
	defer func() {
		p.next.Store(int64(p.n)) // nobody is to begin on more
		p.join()
	}()
	p.take()
}

// spread calls f for the items 0..n-1, one of which takes about cost nanoseconds,
// in no certain order but each on one thread: f is told which, from 0, so that it
// may have working memory of its own.
func (p *pool) spread(x *Exec, n, cost int, f func(x *Exec, thread, item int)) {
	p.items, p.each = n, f
	p.item.Store(0)
	threads := max(min(p.threads, n), 1)
	_ = p.loop(x, threads, n*cost/threads, spreadPart) // which has no error
	p.each = nil
}

func spreadPart(x *Exec, from, to int) error {
	for p, i := x.pool, 0; !p.stopped(); {
		if i = int(p.item.Add(1)) - 1; i >= p.items {
			break
		}
		p.each(x, from, i)
	}
	return nil
}

// inline is loop on the caller's goroutine alone.
func (p *pool) inline(x *Exec, n, run int, f part) error {
	for from := 0; from < n && !p.stopped(); from += run {
		if f(x, from, min(from+run, n)) != nil {
			return f(x, 0, n)
		}
	}
	return nil
}

// take computes runs of items until none is left.
func (p *pool) take() {
	for !p.failed.Load() && !p.stopped() {
		to := int(p.next.Add(int64(p.run)))
		from := to - p.run
		if from >= p.n {
			return
		}
		if p.f(p.x, from, min(to, p.n)) != nil {
			p.failed.Store(true)
		}
	}
}

func (p *pool) stopped() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
