package pack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever was given back, what is taken has room, and nothing in it.
func TestBuffers(t *testing.T) {
	var b buffers[float32]
	for _, n := range []int{10, 5, 20, 2*blockElems + 1, 7} {
		s := b.take(n)
		require.Empty(t, s)
		require.GreaterOrEqual(t, cap(s), n)
		require.LessOrEqual(t, cap(s), max(n, 2*blockElems), "after larger ones")
		b.put(append(s, 1, 2, 3))
	}
}
