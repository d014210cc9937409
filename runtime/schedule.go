package runtime

import (
	"math"

	"estream/pager"
)

// fewTouched is the share of a model's experts that a batch is expected to touch up
// to which they are guessed: beyond it a guess names nearly all of them, and groups of
// one cost more than it saves (OLMoE on a disk of 2 GB/s: 8 tokens took 0.75 of the
// time that reading before routing takes, 16 tokens 1.25).
const fewTouched = 0.8

// schedules are what to try for a batch of so many tokens, the best first.
func (m *Model) schedules(tokens int) []pager.Schedule {
	switch {
	case m.opt.Schedule != pager.Auto:
		return []pager.Schedule{m.opt.Schedule}
	case m.routers.bytes > 0 && m.touched(tokens) <= fewTouched:
		return []pager.Schedule{pager.Guessed, pager.AfterRouting}
	}
	return []pager.Schedule{pager.BeforeRouting}
}

// touched is the share of experts that are expected to have rows, if each of so many
// tokens picks k of a layer's E at random: 1 - (1-k/E)^tokens.
func (m *Model) touched(tokens int) float64 {
	touched, all := 0.0, 0.0
	for _, c := range m.layers {
		if c.routed != nil {
			e := float64(c.n)
			k := float64(c.routed.Args[1].Type.Last().N)
			touched, all = touched+e*(1-math.Pow(max(0, 1-k/e), float64(tokens))), all+e
		}
	}
	return touched / max(1, all)
}
