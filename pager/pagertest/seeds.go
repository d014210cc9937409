package pagertest

import (
	"iter"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// The environment says how many seeds Seeds gives, and the first. To see one again:
//
//	ESTREAM_FAULT_SEED=123 ESTREAM_FAULT_SCRIPTS=1 go test -run TestScripts ./runtime
const (
	seedVar  = "ESTREAM_FAULT_SEED"
	countVar = "ESTREAM_FAULT_SCRIPTS"
)

// Seeds is n seeds from a random one on, or what the environment says, until the test fails; the log tells them.
func Seeds(t testing.TB, n int) iter.Seq[uint64] {
	t.Helper()
	first, count := number(t, seedVar, rand.Uint64N(1<<40)), number(t, countVar, uint64(n))
	t.Logf("%d seeds from %s=%d on", count, seedVar, first)
	return func(yield func(uint64) bool) {
		seed := first
		defer func() { // also where the test panics
			if seed < first+count {
				t.Logf("the last was %s=%d", seedVar, seed)
			}
		}()
		for seed < first+count && yield(seed) && !t.Failed() {
			seed++
		}
	}
}

// number is that of the environment, or the one given.
func number(t testing.TB, name string, or uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return or
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
