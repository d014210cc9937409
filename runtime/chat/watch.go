package chat

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"time"
)

// What a template may take. Those of published models take a millisecond and less
// than a MiB.
const (
	maxText   = 256 << 10 // bytes of the template
	maxDeep   = 200       // brackets within brackets; macros, loops and calls within each other
	maxOutput = 16 << 20  // bytes
)

// limits are what parsing or rendering may take.
type limits struct {
	time   time.Duration
	memory uint64 // bytes by which the process grows meanwhile
}

func most() limits { return limits{10 * time.Second, 512 << 20} }

// watched returns what f does, or an error once f takes more than l. Then f is asked
// to stop and left alone: what it still does is lost.
func watched[T any](l limits, stop func(error), f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- result{err: fmt.Errorf("the chat template does what it cannot: %v", r)}
			}
		}()
		v, err := f()
		done <- result{v, err}
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	begun, before := time.Now(), used()
	for {
		var err error
		select {
		case r := <-done:
			return r.v, r.err
		case <-tick.C:
		}
		switch {
		case time.Since(begun) > l.time:
			err = fmt.Errorf("the chat template takes more than %v", l.time)
		case used() > before+l.memory:
			err = fmt.Errorf("the chat template takes more than %d MiB of memory", l.memory>>20)
		default:
			continue
		}
		stop(err)
		var none T
		return none, err
	}
}

// used is the bytes of the whole process's objects and stacks, so what others take
// meanwhile counts against a template, too.
func used() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

// checkText refuses what cannot be parsed on a stack of bounded size.
func checkText(text string) error {
	if len(text) > maxText {
		return fmt.Errorf("%d bytes, more than %d", len(text), maxText)
	}
	return checkDeep(text)
}

func checkDeep(text string) error {
	deep := 0
	for _, c := range []byte(text) {
		switch {
		case strings.IndexByte("([{", c) >= 0:
			deep++
		case strings.IndexByte(")]}", c) >= 0:
			deep = max(0, deep-1)
		}
		if deep > maxDeep {
			return fmt.Errorf("more than %d brackets stand within each other", maxDeep)
		}
	}
	return nil
}
