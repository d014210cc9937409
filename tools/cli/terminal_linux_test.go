package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// A terminal is drawn over, but for one that says it cannot be; nothing else is.
func TestDrawsOver(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	defer terminal.Close()
	t.Setenv("TERM", "xterm")
	require.True(t, drawsOver(terminal))
	t.Setenv("TERM", "dumb")
	require.False(t, drawsOver(terminal))
	t.Setenv("TERM", "xterm")
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, drawsOver(null))
}
