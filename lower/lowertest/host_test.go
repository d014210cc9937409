package lowertest

import (
	"fmt"
	"testing"

	"estream/ir"
	"estream/lower/host"
	"estream/passes"
)

// TestHost runs the suite on the host, as packages are opened, in its own packing
// and in the device's.
func TestHost(t *testing.T) {
	for threads, activation := range map[int]ir.DType{1: ir.Invalid, 3: ir.A8} {
		t.Run(fmt.Sprintf("%d threads, activations %s", threads, activation), func(t *testing.T) {
			t.Parallel()
			b := host.New(host.Options{Threads: threads})
			target := passes.Target{Host: b, Activation: func(ir.DType) ir.DType { return activation }}
			RunAll(t, b, Options{
				Half:     Tolerance{1.0 / 50, "queries and weights of attention are rounded to bfloat16 where keys and values are"},
				Packings: NewNPU().Packings(),
				Prepare:  func(m *ir.Module) error { return passes.Run(m, passes.Open(target), nil) },
			})
		})
	}
}
