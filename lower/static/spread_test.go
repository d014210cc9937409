package static_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/static"
	"estream/passes"
)

func TestSpread(t *testing.T) {
	costs := passes.Cost{Launch: 10, Body: 1, Row: 1, HostExpert: 1, HostRow: 2}
	for _, c := range []struct {
		name string
		cost passes.Cost
		drop bool
		rows []int
		want passes.Work
	}{
		{"second calls", costs.OnDevice(), false, []int{9, 0, 2}, passes.Work{Experts: 2, Rows: 11, Launches: 4, Bodies: 4, Computed: 12, Overflow: 2}},
		{"drops", costs.OnDevice(), true, []int{9, 0, 2}, passes.Work{Experts: 2, Rows: 6, Launches: 2, Bodies: 2, Computed: 6, Dropped: 5}},
		{"nothing to drop on the host", passes.Cost{Launch: 10, HostRow: 1}, true, []int{9, 0, 2}, passes.Work{Experts: 2, Rows: 11, HostExperts: 2, HostRows: 11}},
		{"few rows on the host, many on the device", costs, true, []int{1, 40}, passes.Work{Experts: 2, Rows: 41, HostExperts: 2, HostRows: 41}},
		{"drops beside the host", passes.Cost{Launch: 3, Row: 1, HostExpert: 1, HostRow: 2}, true, []int{1, 7}, passes.Work{Experts: 2, Rows: 5, Launches: 1, Bodies: 1, Computed: 4, HostExperts: 1, HostRows: 1, Dropped: 3}},
		{"no tiers", costs, true, []int{5}, passes.Work{Experts: 1, Rows: 5, HostExperts: 1, HostRows: 5}},
	} {
		tiers := passes.Tiers{R: []int{2, 4}}
		if c.name == "no tiers" {
			tiers.R = nil
		}
		_, got := static.Spread(tiers, c.cost, c.drop, c.rows)
		require.Equal(t, c.want, got, "%s: %v", c.name, c.rows)
	}
}

// TestSpreadDrops: of any call, an expert that is on the device with all rows and without
// those that are dropped keeps as many as the largest tier holds, any other all.
func TestSpreadDrops(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	moved := 0 // experts with rows to drop that end on the host
	for range 20000 {
		tiers := passes.Tiers{R: []int{1 + r.IntN(3), 4 + r.IntN(3)}, G: []int{1, 2 + r.IntN(3)}}
		cost := passes.Cost{Launch: 8 * r.Float64(), Body: r.Float64(), Row: r.Float64(), HostExpert: r.Float64(), HostRow: 3 * r.Float64()}
		rows := make([]int, 1+r.IntN(5))
		for i := range rows {
			rows[i] = r.IntN(12)
		}
		first, _ := places(tiers.Spread(rows, cost), len(rows))
		launches, w := static.Spread(tiers, cost, true, rows)
		last, run := places(launches, len(rows))
		dropped := 0
		for e, n := range rows {
			want := n
			if first[e] && last[e] {
				want = min(n, tiers.R[1])
			}
			if first[e] && !last[e] && n > tiers.R[1] {
				moved++
			}
			require.Equal(t, want, run[e], "expert %d of %v, tiers %v: %+v", e, rows, tiers, launches)
			dropped += n - run[e]
		}
		require.Equal(t, dropped, w.Dropped, "%v: %+v", rows, launches)
	}
	require.Positive(t, moved)
}

// places tells which of n experts launches have on the device, and how many rows of each.
func places(launches []passes.Launch, n int) (device []bool, rows []int) {
	device, rows = make([]bool, n), make([]int, n)
	for _, l := range launches {
		for _, p := range l.Pieces {
			device[p.Expert], rows[p.Expert] = l.G > 0, rows[p.Expert]+p.To-p.From
		}
	}
	return device, rows
}
