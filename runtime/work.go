package runtime

import (
	"estream/lower"
	"estream/passes"
)

// A LayerWork is what the experts of a layer were on a device of fixed extents: its
// launches, padded rows, second calls, and what was left out or ran on the host.
type LayerWork struct {
	Layer int `json:"layer"`
	passes.Work
	Padding float64 `json:"padding"` // share of padded rows among those that the device computed
}

// Total adds up what experts were in all layers.
func Total(work []LayerWork) (all passes.Work) {
	for _, w := range work {
		all.Add(w.Work)
	}
	return all
}

// count adds what the last call was on the device, if it was one of experts.
func (r *run) count(c *lower.Call) {
	d, ok := r.m.device.(interface{ Worked() passes.Work })
	if !ok || len(c.Group) == 0 {
		return
	}
	w := d.Worked()
	if w == (passes.Work{}) {
		return
	}
	if n := len(r.work); n == 0 || r.work[n-1].Layer != r.at {
		r.work = append(r.work, LayerWork{Layer: r.at})
	}
	l := &r.work[len(r.work)-1]
	l.Add(w)
	l.Padding = l.Work.Padding()
}
