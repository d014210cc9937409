package runtime

import (
	"fmt"
	"strings"

	"estream/ir"
	"estream/passes"
)

// target says for what the module is legalized: the device where there is one,
// and the host, which multiplies encoded weights by activations of the type that
// the package's policy names.
func (m *Model) target() (passes.Target, error) {
	t := passes.Target{Host: m.opt.Host}
	if m.opt.Device != nil {
		t = m.opt.Device.Target(m.opt.Host)
		t.Tiers.P = HeadColumns(m.pkg.Manifest, len(m.module.Layers))
	}
	activation := ir.A8
	for _, kv := range m.pkg.Manifest.Policy {
		if kv.Key != "activations" {
			continue
		}
		name, _, _ := strings.Cut(kv.Value, ":")
		d, err := ir.ParseDType(name)
		if err != nil || !d.Activation() {
			return t, fmt.Errorf("policy: activations are %q, want a8 or a8g128", name)
		}
		activation = d
	}
	t.Activation = func(ir.DType) ir.DType { return activation }
	return t, nil
}
