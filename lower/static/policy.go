package static

import (
	"cmp"
	"slices"

	"estream/lower"
	"estream/passes"
)

// A Policy says how the rows of an expert call are spread over launches. The zero
// Policy runs all of them on the device.
//
// What a row's tier and neighbours are does not change it but within the device's
// tolerance, and each row is run once, whatever the policy, unless Drop is set.
type Policy struct {
	Cost passes.Cost // what is made least; see passes.Tiers.Spread

	// Host runs experts whose rows do not repay a launch by Cost, from the
	// device's memory and in its packing; nil: none.
	Host lower.Backend

	// Drop leaves out rows of an expert on the device beyond the largest tier, those of
	// the lowest weights: results are then not those of the model, and Work.Dropped
	// tells by how much.
	Drop bool

	// Report, where set, is told of the work of each expert call, after it, by
	// the goroutine of Run. It is not told of calls that fail.
	Report func(graph string, w passes.Work)
}

// With returns a backend of the same device with other tiers and a policy.
func (b *Backend) With(t passes.Tiers, p Policy) *Backend { return &Backend{b.device, t, p} }

// Tiers returns the tiers that the backend has.
func (b *Backend) Tiers() passes.Tiers { return b.tiers }

// cost is what launches are chosen by.
func (p *Policy) cost() passes.Cost {
	if p.Host == nil {
		return p.Cost.OnDevice()
	}
	return p.Cost
}

// keep returns the experts, those of which are told without their rows beyond most,
// of the lowest weights, the later of equals, and how many rows these are.
func keep(group []lower.Expert, of []bool, most int) (kept []lower.Expert, dropped int) {
	kept = slices.Clone(group)
	for i := range kept {
		e := &kept[i]
		over := len(e.Rows) - most
		if over <= 0 || !of[i] {
			continue
		}
		dropped += over
		order := make([]int, len(e.Rows))
		for j := range order {
			order[j] = j
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(e.W[b], e.W[a]) })
		slices.Sort(order[:most])
		rows, w := make([]int32, most), make([]float32, most)
		for j, from := range order[:most] {
			rows[j], w[j] = e.Rows[from], e.W[from]
		}
		e.Rows, e.W = rows, w
	}
	return kept, dropped
}
