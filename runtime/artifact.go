package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
)

// A targeted backend has artifacts that are for one architecture each.
type targeted interface {
	ArtifactTarget() (arch, sdk string, err error) // of this device; an error where it cannot be used at all
	ArtifactFits(arch, sdk string) error           // nil, or an error that names both and the remedy
}

// An Unused is what the package keeps for the device, and was of no use, or of little.
type Unused struct {
	layout.Artifact
	Err    error  // of Load; nil: it was loaded
	Sizes  []Size // that are not those that it was made for; none where it does not tell
	Tapped bool   // graphs of the device return values that Options.Taps names
	Inside int    // layers whose graphs were made anew, with their weights inside
}

// Unused returns what of the package's compiled programs was left when it was opened
// for this device, nil: nothing.
func (m *Model) Unused() *Unused { return m.unused }

// compileDevice makes the device's programs: from what the package keeps for it,
// or else by compiling, as where the package keeps programs of other extents.
func (m *Model) compileDevice(ctx context.Context, p lower.Packing, t passes.Tiers) (lower.Compiled, error) {
	d := m.opt.Device
	a, err := m.artifact(d)
	if err != nil {
		return nil, err
	}
	if a != nil {
		file, err := m.pkg.Companion(a.File)
		if err != nil {
			return nil, fmt.Errorf("%w, or compile it anew with estream prepare", err)
		}
		c, err := d.Load(ctx, m.module, p, file[a.Offset:a.Offset+a.Length])
		if err == nil || !errors.Is(err, lower.ErrUnsupported) {
			m.loaded = a
			return c, err
		}
		m.unused = &Unused{Artifact: *a, Err: err, Sizes: otherSizes(a.Name, ProgramsName(t)), Tapped: m.tapsDevice()}
	}
	return d.Compile(ctx, m.module, p)
}

// artifact returns what the package keeps for a device, nil if it keeps nothing
// for that kind. What is for other devices of the kind is an error.
func (m *Model) artifact(d Device) (*layout.Artifact, error) {
	t, ok := d.(targeted)
	var why []string
	var arch string
	for _, a := range slices.Backward(m.pkg.Manifest.Artifacts) { // the latest first
		if a.Backend != d.Name() {
			continue
		}
		if !ok {
			return &a, nil
		}
		var err error
		if arch, _, err = t.ArtifactTarget(); err != nil {
			return nil, err
		}
		if err = t.ArtifactFits(a.Arch, a.SDK); err == nil {
			return &a, nil
		}
		why = append(why, err.Error())
	}
	if len(why) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("none of its compiled programs is for this device: %s: estream prepare --soc %s %s", strings.Join(why, "; "), arch, m.pkg.Dir)
}

// tapsDevice reports whether a graph of the device returns a tapped value.
func (m *Model) tapsDevice() bool {
	return slices.ContainsFunc(m.module.Graphs, func(g *ir.Graph) bool {
		return g.On == m.opt.Device.Name() && slices.ContainsFunc(g.Outputs, func(v *ir.Value) bool { return slices.Contains(m.opt.Taps, v.Name) })
	})
}
