package static

import (
	"slices"

	"estream/passes"
)

// Spread cuts a call, of which rows gives each expert's, into launches, and counts the
// work. With drop, an expert that would run on the device keeps at most as many rows as
// the largest tier, and the call is cut anew; one that then falls to the host keeps all.
// Without a cost on the host nothing runs there.
func Spread(t passes.Tiers, c passes.Cost, drop bool, rows []int) ([]passes.Launch, passes.Work) {
	launches := t.Spread(rows, c)
	if !drop || len(t.R) == 0 {
		return launches, passes.WorkOf(launches)
	}
	kept, most := slices.Clone(rows), slices.Max(t.R)
	for _, l := range launches {
		for _, p := range l.Pieces {
			if l.G > 0 {
				kept[p.Expert] = min(rows[p.Expert], most)
			}
		}
	}
	launches = t.Spread(kept, c)
	for _, l := range launches {
		for i := range l.Pieces {
			if p := &l.Pieces[i]; l.G == 0 {
				p.To = rows[p.Expert]
			}
		}
	}
	w := passes.WorkOf(launches)
	for _, n := range rows {
		w.Dropped += n
	}
	w.Dropped -= w.Rows
	return launches, w
}
