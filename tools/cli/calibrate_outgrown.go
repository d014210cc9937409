package cli

import (
	"fmt"

	"estream/lower/static"
	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/calibrate"
)

// noteOutgrown tells of compiled programs that a package keeps, and that runs by its new
// calibration have no use of: of those that are alike once.
func (a *App) noteOutgrown(dir string, c *calibrate.Calibration) {
	pkg, err := layout.Open(dir)
	if err != nil {
		return // whoever runs it is told
	}
	kept, told := pkg.Manifest.Artifacts, map[[2]string]bool{}
	for _, x := range kept {
		b := a.staticBackend(x.Backend)
		if b == nil || told[[2]string{x.Backend, x.Name}] {
			continue
		}
		told[[2]string{x.Backend, x.Name}] = true
		if now := runtime.ProgramsName(c.Choice.Tiers(b.Tiers())); now != x.Name {
			a.noteUnused(dir, &runtime.Unused{Artifact: x, Err: fmt.Errorf("it has %s, runs by this calibration have %s", x.Name, now)}, kept, nil)
		}
	}
}

// staticBackend is the backend that an artifact names, nil: none of fixed sizes.
func (a *App) staticBackend(name string) *static.Backend {
	for _, b := range a.Backends {
		if s, ok := b.New(a.host()).(*static.Backend); ok && s.Name() == name {
			return s
		}
	}
	return nil
}
