package qnn

import (
	"runtime"
	"sync"
)

// A thread is one of the system's on which functions run, one at a time: a library
// keeps memory for each thread that it is called by, HTP's emulation 6 MiB, the
// reference library megabytes. A nil thread is that of a device that is closed: there
// is no library left to call, and functions run where they are.
type thread struct {
	turn  sync.Mutex
	work  chan func() error
	ended chan error
}

func newThread() *thread {
	t := &thread{work: make(chan func() error), ended: make(chan error)}
	go func() {
		runtime.LockOSThread() // which ends with this function
		for f := range t.work {
			t.ended <- f()
		}
	}()
	return t
}

// do runs f, which may not call do, and returns what it does.
func (t *thread) do(f func() error) error {
	if t == nil {
		return f()
	}
	t.turn.Lock()
	defer t.turn.Unlock()
	t.work <- f
	return <-t.ended
}

// end ends the thread, on which nothing may run any more.
func (t *thread) end() {
	if t != nil {
		close(t.work)
	}
}
