package planner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

// A router's time is of the body before it, also where a coarse clock gives that none; a layer without one has a body, too.
func TestSampler(t *testing.T) {
	s := &sampler{of: map[string][]sample{}, layers: []string{"c", "d"}, last: 5}
	program := func(layer int, graph string, ms time.Duration) {
		at := time.Unix(0, 0)
		s.event(runtime.Event{Kind: runtime.ProgramRan, Layer: layer, Graph: graph, Rows: 2, Start: at, End: at.Add(ms * time.Millisecond)})
	}
	program(0, "c.body", 0)
	program(0, "c.route", 1)
	program(0, "c.body", 2)
	program(0, "c.route", 3)
	program(0, "c.body", 0)
	program(0, "c.route", 0)
	s.event(runtime.Event{Kind: runtime.RecordsUsed, Dense: true})
	program(1, "d.body", 4)
	s.event(runtime.Event{Kind: runtime.RecordsUsed, Dense: true, Layer: 1})
	require.Equal(t, map[string][]sample{"c.body": {{2, 3, 0.001}, {2, 7, 0.005}}, "d.body": {{2, 3, 0.004}}}, s.of)
}
