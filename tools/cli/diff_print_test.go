package cli

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/diff"
)

// A tensor that has become NaN is not called exact.
func TestPrintDeltaOdd(t *testing.T) {
	text := ""
	p := func(format string, args ...any) { text = fmt.Sprintf(format, args...) }
	printDelta(p, "x (1)", diff.TensorDelta{TypeA: "f32", TypeB: "f32", Values: 4, Apart: 1, Odd: 1, Signal: 3})
	require.Regexp(t, `^x \(1\) +f32 +f32 +25\.00 % +0 +0 +-  -; 1 are NaN or infinite on one side$`, text)
	printDelta(p, "x (1)", diff.TensorDelta{Values: 4, Apart: 2, Odd: 1, Signal: 100, Noise: 1, At: []int{0, 1}})
	require.Contains(t, text, " 20.0 dB ")
}
