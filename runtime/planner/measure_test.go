package planner

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
)

// A router's time is of the body before it, also where a coarse clock gives that none; a layer without one has a body, too.
// What of a layer is neither program nor wait is its rest; what was read during a program is known of it.
func TestSampler(t *testing.T) {
	s, stopped := &Sampler{of: map[string][]sample{}, experts: map[string]string{}, layers: []string{"c", "d"}, last: 1}, 0
	at := time.Unix(0, 0)
	after := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	s.begin(false, func() { stopped++ })
	now := 0
	program := func(layer int, graph string, count, ms int) {
		s.event(runtime.Event{Kind: runtime.ProgramRan, Layer: layer, Graph: graph, Rows: 2, Count: count, Start: after(now), End: after(now + ms)})
		now += ms
	}
	program(-1, "embed", 0, 1)
	program(0, "c.body", 0, 0)
	program(0, "c.route", 0, 1)
	program(0, "c.body", 0, 2)
	program(0, "c.route", 0, 3)
	program(0, "c.body", 0, 0)
	program(0, "c.route", 0, 0)
	s.pager(pager.Event{Kind: pager.Wait, Stage: 0, Start: after(7), End: after(12)})
	s.pager(pager.Event{Kind: pager.Wait, Stage: 0, Dense: true, Start: after(0), End: after(12)})
	now = 12
	program(0, "experts", 3, 4)
	program(0, "experts", 3, 4)
	s.event(runtime.Event{Kind: runtime.RecordsUsed, Dense: true, Start: after(1), End: after(22)})
	require.Zero(t, stopped)
	now = 22
	program(1, "d.body", 0, 4)
	s.event(runtime.Event{Kind: runtime.RecordsUsed, Dense: true, Layer: 1, Start: after(22), End: after(26)})
	require.Equal(t, 1, stopped)
	s.pager(pager.Event{Kind: pager.Read, Start: after(19), End: after(24)})
	s.pager(pager.Event{Kind: pager.Read, Start: after(5), End: after(13)})
	s.pager(pager.Event{Kind: pager.Read, Start: after(11), End: after(15)})
	s.event(runtime.Event{Kind: runtime.BatchRan, Rows: 2, End: after(30)})
	s.digest(5)
	for _, samples := range s.of {
		for i := range samples {
			samples[i].seconds, samples[i].read = math.Round(1e3*samples[i].seconds), math.Round(1e3*samples[i].read)
		}
	}
	require.Equal(t, map[string][]sample{
		"embed": {{2, 0, 1, 0}}, "c.body": {{2, 3, 1, 0}, {2, 7, 5, 2}}, "experts.group": {{2, 3, 4, 3}, {2, 3, 4, 1}}, "c.rest": {{5, 2, 2, 0}},
		"d.body": {{2, 3, 4, 2}},
	}, s.of)

	require.Equal(t, map[string]string{"c": "experts"}, s.experts)

	s.begin(true, func() { stopped++ })
	program(-1, "embed", 0, 1)
	require.Equal(t, 1, stopped)
	program(0, "c.body", 0, 1)
	require.Equal(t, 2, stopped, "a short run ends with its first body")
}
