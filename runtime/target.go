package runtime

import (
	"estream/ir"
	"estream/passes"
)

// target says for what the module is legalized: the device where there is one,
// and the host, which multiplies encoded weights by int8 activations.
func (m *Model) target() passes.Target {
	t := passes.Target{Host: m.opt.Host}
	if m.opt.Device != nil {
		t = m.opt.Device.Target(m.opt.Host)
	}
	t.Activation = func(ir.DType) ir.DType { return ir.A8 }
	return t
}
