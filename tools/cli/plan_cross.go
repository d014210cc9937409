package cli

import (
	"cmp"
	"errors"
	"slices"

	"estream/runtime"
	"estream/runtime/planner"
)

// cross finds n*, so that it agrees with what is printed of each length: from the longest for which the disk limits, else
// from the shortest. A length that does not fit bounds it like one for which computation limits, but is none itself.
func (p *plans) cross(at func(int) (planner.Choice, error)) error {
	rows := slices.SortedFunc(slices.Values(p.lengths), func(a, b planned) int { return cmp.Compare(a.tokens, b.tokens) })
	from := 0
	for i, x := range rows {
		if x.First.Reads > x.First.Compute {
			from = i
		}
	}
	large := map[int]bool{}
	n, err := planner.Crossing(rows[from].tokens, rows[from].Choice, func(tokens int) (planner.Choice, error) {
		c, err := at(tokens)
		if large[tokens] = errors.Is(err, runtime.ErrMemory) || errors.Is(err, planner.ErrLimit); large[tokens] {
			return planner.Choice{}, nil // reads and computes for no time
		}
		return c, err
	})
	if err != nil && !errors.Is(err, planner.ErrNoCrossing) {
		return err
	}
	if large[n] {
		n = 0
	}
	if from+1 < len(rows) && (n == 0 || n > rows[from+1].tokens) {
		n = rows[from+1].tokens
	}
	p.crossing = n
	return nil
}
