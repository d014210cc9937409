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

// An Unused says why the artifact that the package keeps for the device was not used,
// or only in part.
type Unused struct {
	layout.Artifact
	Device string       // its architecture; empty: its artifacts are for none in particular
	Err    error        // of Load; nil: it was loaded
	Sizes  []TierChange // tiers that differ from those it was made for; empty: none, or its name tells none
	Tapped bool         // Options.Taps names outputs of device graphs, which changes the graphs
	Inside int          // layers whose graphs were made anew, with their weights inside
}

// An ArtifactsError is the error of a package that keeps artifacts for other devices of
// the kind, and none for this one.
type ArtifactsError struct {
	Dir    string // of the package
	Device string // its architecture
	Whys   []error
}

func (e *ArtifactsError) Error() string {
	whys := make([]string, len(e.Whys))
	for i, err := range e.Whys {
		whys[i] = err.Error()
	}
	return "none of its compiled programs is for this device: " + strings.Join(whys, "; ")
}

// Unused returns what of the package's compiled programs was left when it was opened
// for this device, nil: nothing.
func (m *Model) Unused() *Unused { return m.unused }

// compileDevice makes the device's programs: from what the package keeps for it,
// or else by compiling, as where the package keeps programs of other extents.
func (m *Model) compileDevice(ctx context.Context, p lower.Packing, t passes.Tiers) (lower.Compiled, error) {
	d := m.opt.Device
	a, arch, err := m.artifact(d)
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
		m.unused = &Unused{Artifact: *a, Device: arch, Err: err, Sizes: tierChanges(a.Name, ProgramsName(t)), Tapped: m.tapsDevice()}
	}
	return d.Compile(ctx, m.module, p)
}

// artifact returns what the package keeps for a device and the device's architecture,
// nil if it keeps nothing for that kind. What is for other devices of the kind is an
// ArtifactsError.
func (m *Model) artifact(d Device) (_ *layout.Artifact, arch string, err error) {
	t, ok := d.(targeted)
	var whys []error
	for _, a := range slices.Backward(m.pkg.Manifest.Artifacts) { // the latest first
		if a.Backend != d.Name() {
			continue
		}
		if !ok {
			return &a, "", nil
		}
		if arch, _, err = t.ArtifactTarget(); err != nil {
			return nil, "", err
		}
		if err = t.ArtifactFits(a.Arch, a.SDK); err == nil {
			return &a, arch, nil
		}
		whys = append(whys, err)
	}
	if len(whys) == 0 {
		return nil, "", nil
	}
	return nil, "", &ArtifactsError{m.pkg.Dir, arch, whys}
}

// tapsDevice reports whether a graph of the device returns a tapped value.
func (m *Model) tapsDevice() bool {
	return slices.ContainsFunc(m.module.Graphs, func(g *ir.Graph) bool {
		return g.On == m.opt.Device.Name() && slices.ContainsFunc(g.Outputs, func(v *ir.Value) bool { return slices.Contains(m.opt.Taps, v.Name) })
	})
}
