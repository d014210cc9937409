package runtime

import "estream/pager"

// mostRead bounds the bytes that a run of a plan reads with nothing kept in memory: each dense record once, those of the
// head once for each Head rows of logits, the table's blocks, the routers if it guesses, and of experts those that its
// tokens can be routed to: all of a layer unless the schedule waits for routes.
func (m *Model) mostRead(p Plan) int64 {
	align := m.pkg.Manifest.Align
	n := min(int64(p.Tokens)*m.tableSlot(), m.tableBytes())
	if p.Schedule == pager.Guessed {
		n += m.routers.bytes
	}
	for l := range m.stages {
		dense, experts := m.records(l)
		times, many := 1, len(experts)
		if l == len(m.layers) {
			times = (p.Rows + p.Head - 1) / max(1, p.Head)
		} else if many > 0 && (p.Schedule == pager.AfterRouting || p.Schedule == pager.OnDemand) {
			many = min(many, p.Tokens*m.layers[l].routed.Args[1].Type.Last().N)
		}
		for _, r := range dense {
			n += int64(times) * r.Stride(align)
		}
		if many > 0 {
			n += int64(many) * experts[0].Stride(align)
		}
	}
	return n
}
