package static

import (
	"slices"

	"estream/passes"
)

// Spread returns how a call of experts that have so many rows each is run: pieces are
// of the rows that an expert keeps, which are all of them unless drop is set. Then an
// expert that runs on the device, if it is spread with all of its rows, keeps as many
// as the largest tier holds, and the call is spread anew. One that ends on the host
// keeps all even so. Without a cost on the host nothing runs there.
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
