package cli

import (
	"estream/lower/static"
	"estream/runtime"
	"estream/tools/calibrate"
)

// A routing is how a package's calibration is used by runs: it sizes the graphs of
// a static device, and tells of routing that drifts. A nil one does nothing.
type routing struct {
	app   *App
	watch *calibrate.Watch // nil: the package carries no calibration
}

func (a *App) newRouting() *routing { return &routing{app: a} }

// use makes a model that is opened with o, of the package in a folder, run by its
// calibration, if it carries one. One that is not fit for use is told of, and left.
func (r *routing) use(dir string, o *runtime.Options) {
	if r == nil {
		return
	}
	c, err := calibrate.Load(dir)
	if c == nil && err == nil {
		return
	}
	module, _, bad := r.app.stored(dir)
	if bad != nil {
		return // of which opening the package tells
	}
	var w *calibrate.Watch
	if err == nil {
		w, err = calibrate.NewWatch(c, module)
	}
	if err != nil {
		r.app.note("note: the calibration is not used: %v", err)
		return
	}
	w.Watch(o)
	r.watch = w
	b, ok := o.Device.(*static.Backend)
	if !ok {
		return
	}
	p := static.Policy{Cost: c.Cost, Drop: c.Choice.Drop}
	if c.Choice.Host {
		p.Host = o.Host
	}
	o.Device = b.With(c.Choice.Tiers(b.Tiers()), p)
}

// calibrated reports whether the package's calibration is used.
func (r *routing) calibrated() bool { return r != nil && r.watch != nil }

// notes are what a user should know of the run that has ended.
func (r *routing) notes() []string {
	if !r.calibrated() {
		return nil
	}
	return r.watch.Notes()
}
