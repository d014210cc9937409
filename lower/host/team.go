package host

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"estream/lower/host/kernel"
)

// A team is goroutines that join in each piece of work the owner opens. They
// begin with the first open and end with stop; between two pieces of work they
// look for the next one for a moment before they sleep, since a layer is some
// dozens of pieces, many of less than the time it takes to wake a goroutine.
//
//	W1 work runs on a member only between open and close
//	W2 close returns when no member is at work; it waits for none that sleeps
type team struct {
	size int
	work func() // returns when nothing is left to do

	gate   atomic.Uint64 // rounds opened so far, whether the last is open, members at work
	asleep atomic.Int32
	wake   chan struct{}
	ended  sync.WaitGroup
}

const (
	isOpen   = 1 << 31
	oneRound = 1 << 32
	stopped  = 1<<31 - 1 // members at work, once the team has ended
	looks    = 512       // for what it waits for before a thread lets other goroutines run

	// A member looks for the next round this long before it sleeps. Where a sleeping
	// core has to be woken through a hypervisor, 128 tokens took twice the time with 20 us.
	awake = time.Millisecond
)

// open begins a round.
func (t *team) open() {
	if t.wake == nil {
		t.wake = make(chan struct{}, t.size)
		t.ended.Add(t.size)
		for range t.size {
			go t.member()
		}
	}
	t.gate.Store(t.gate.Load()&^(oneRound-1) + oneRound | isOpen)
	for range t.asleep.Load() {
		select {
		case t.wake <- struct{}{}:
		default: // as many are waking up
		}
	}
}

// close ends the round and waits, without sleeping, for the members that joined in it.
func (t *team) close() {
	for n, i := 1, t.gate.And(^uint64(isOpen)); i&(isOpen-1) != 0; n, i = n+1, t.gate.Load()&^isOpen {
		relax(n)
	}
}

// stop ends the goroutines. The team may be opened again.
func (t *team) stop() {
	if t.wake == nil {
		return
	}
	t.gate.Store(stopped)
	close(t.wake)
	t.ended.Wait()
	t.gate.Store(0)
	t.wake = nil
}

func (t *team) member() {
	defer t.ended.Done()
	for last := uint64(0); ; {
		g := t.next(last)
		if g == stopped {
			return
		}
		if last = g / oneRound; t.gate.CompareAndSwap(g, g+1) {
			t.work()
			t.gate.Add(^uint64(0))
		} else {
			last-- // the gate moved: look again
		}
	}
}

// next returns the gate once a round after the last is open, or the team has ended.
func (t *team) next(last uint64) uint64 {
	for {
		for n, begun := 1, time.Now(); n%looks != 0 || time.Since(begun) < awake; n++ {
			if g := t.gate.Load(); g == stopped || g&isOpen != 0 && g/oneRound != last {
				return g
			}
			relax(n)
		}
		t.asleep.Add(1)
		if g := t.gate.Load(); g != stopped && (g&isOpen == 0 || g/oneRound == last) {
			<-t.wake
		}
		t.asleep.Add(-1)
	}
}

// relax passes the time after the nth look. Goroutines get the processor seldom:
// each time the scheduler wakes another thread of the system to look for more of
// them, which cost 5 to 20 % of all time where there are as many threads as cores.
func relax(n int) {
	kernel.Pause()
	if n%looks == 0 {
		runtime.Gosched()
	}
}
