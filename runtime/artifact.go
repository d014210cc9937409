package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"estream/lower"
	"estream/pager/layout"
)

// A targeted backend has artifacts that are for one architecture each.
type targeted interface {
	ArtifactTarget() (arch, sdk string, err error) // of this device; an error where it cannot be used at all
	ArtifactFits(arch, sdk string) error           // nil, or an error that names both and the remedy
}

// compileDevice makes the device's programs: from what the package keeps for it,
// or else by compiling, as where the package keeps programs of other extents.
func (m *Model) compileDevice(ctx context.Context, p lower.Packing) (lower.Compiled, error) {
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
			return c, err
		}
	}
	return d.Compile(ctx, m.module, p)
}

// artifact returns what the package keeps for a device, nil if it keeps nothing
// for that kind. What is for other devices of the kind is an error.
func (m *Model) artifact(d Device) (*layout.Artifact, error) {
	t, ok := d.(targeted)
	var why []string
	for _, a := range slices.Backward(m.pkg.Manifest.Artifacts) { // the latest first
		if a.Backend != d.Name() {
			continue
		}
		if !ok {
			return &a, nil
		}
		if _, _, err := t.ArtifactTarget(); err != nil {
			return nil, err
		}
		err := t.ArtifactFits(a.Arch, a.SDK)
		if err == nil {
			return &a, nil
		}
		why = append(why, err.Error())
	}
	if len(why) == 0 {
		return nil, nil
	}
	return nil, fmt.Errorf("none of its compiled programs is for this device: %s", strings.Join(why, "; "))
}
