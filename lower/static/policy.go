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

// keep returns the experts with the rows that launches have pieces of: of each as many
// of the largest weights, the earlier of equals.
func keep(group []lower.Expert, launches []passes.Launch) []lower.Expert {
	rows := make([]int, len(group))
	for _, l := range launches {
		for _, p := range l.Pieces {
			rows[p.Expert] += p.To - p.From
		}
	}
	kept := slices.Clone(group)
	for i, n := range rows {
		if n < len(group[i].Rows) {
			kept[i] = heaviest(group[i], n)
		}
	}
	return kept
}

// heaviest returns an expert with the n rows of its largest weights, in their order.
func heaviest(e lower.Expert, n int) lower.Expert {
	order := make([]int, len(e.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(e.W[b], e.W[a]) })
	slices.Sort(order[:n])
	rows, w := make([]int32, n), make([]float32, n)
	for i, from := range order[:n] {
		rows[i], w[i] = e.Rows[from], e.W[from]
	}
	e.Rows, e.W = rows, w
	return e
}
