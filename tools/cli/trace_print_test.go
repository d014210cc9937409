package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The layer after the last is the head, where one ran, and others are none.
func TestOfHead(t *testing.T) {
	require.Equal(t, "head dense 0", ofHead("layer 4 dense 0", 4))
	require.Equal(t, "dense slot 0 was given back by head dense 2", ofHead("dense slot 0 was given back by layer 4 dense 2", 4))
	for _, text := range []string{"layer 4 experts 1", "layer 40 dense 0", "layer 3 dense 0"} {
		require.Equal(t, text, ofHead(text, 4))
	}
	require.Equal(t, "layer 0 dense 0", ofHead("layer 0 dense 0", 0))
}
