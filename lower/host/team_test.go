package host

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTeam opens and closes rounds with members awake, asleep and newly begun:
// work runs within rounds only, and all of it is done when close returns.
func TestTeam(t *testing.T) {
	for _, size := range []int{1, 3, 8} {
		var open atomic.Bool
		var left, outside atomic.Int64
		team := team{size: size, work: func() {
			if !open.Load() {
				outside.Add(1)
			}
			for left.Add(-1) >= 0 {
			}
		}}
		for round := range 400 {
			left.Store(50)
			open.Store(true)
			team.open()
			team.work()
			team.close()
			require.Negative(t, left.Load())
			open.Store(false)
			switch {
			case round%100 == 50:
				time.Sleep(3 * awake) // they fall asleep
			case round%100 == 99:
				team.stop()
			}
		}
		team.stop()
		team.stop()
		require.Zero(t, outside.Load(), "members at work between rounds of a team of %d", size)
	}
}
