package host

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
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
	looks    = 64        // for the next round before a member lets others run

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
	for i := t.gate.And(^uint64(isOpen)); i&(isOpen-1) != 0; i = t.gate.Load() &^ isOpen {
		runtime.Gosched()
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
		for begun := time.Now(); time.Since(begun) < awake; runtime.Gosched() {
			for range looks {
				if g := t.gate.Load(); g == stopped || g&isOpen != 0 && g/oneRound != last {
					return g
				}
			}
		}
		t.asleep.Add(1)
		if g := t.gate.Load(); g != stopped && (g&isOpen == 0 || g/oneRound == last) {
			<-t.wake
		}
		t.asleep.Add(-1)
	}
}
