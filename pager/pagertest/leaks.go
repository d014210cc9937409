package pagertest

import (
	"bytes"
	"runtime"
	"testing"
	"time"
)

// CheckLeaks fails a test that ends with readers of a pass still running. Call it before the pass is started.
func CheckLeaks(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		var left []byte
		for range 100 {
			if left = readers(); left == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("readers still run:\n%s", left)
	})
}

// readers is the stack of a goroutine that a pass began, if there is one.
func readers() []byte {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for g := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if bytes.Contains(g, []byte("created by estream/pager.(*Pager).Start")) {
			return g
		}
	}
	return nil
}
