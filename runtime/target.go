package runtime

import (
	"estream/ir"
	"estream/passes"
)

// target says for what the module is legalized.
func (m *Model) target() passes.Target {
	t := passes.Target{
		Host:       m.opt.Host,
		Activation: func(w ir.DType) ir.DType { return ir.A8 },
	}
	if d := m.opt.Device; d != nil {
		t.Backend, t.Static, t.Tiers = d.Backend, true, d.Tiers
	}
	return t
}
