package cli

import (
	"time"

	"github.com/spf13/pflag"

	"estream/runtime"
	"estream/runtime/planner"
)

// planning is the flag that says who picks the shape of an arena.
func (f *runFlags) planning(fl *pflag.FlagSet) {
	fl.StringVar(&f.plan, "plan", "auto", "who picks readers, banks and group where none is given: auto (the profile that plan has kept of the package, if it has) or off")
}

// shape has runs of a package take the shapes that its kept profile chooses, where there is one and none is given.
func (a *App) shape(dir string, f runFlags, o *runtime.Options) error {
	if f.plan != "" && f.plan != "auto" && f.plan != "off" {
		return usagef("unknown --plan %q: use auto or off", f.plan)
	}
	if f.plan != "auto" || o.Readers+o.Banks+o.Group > 0 {
		return nil
	}
	key, err := f.profileKey(dir, o.Threads)
	if err != nil {
		return nil // opening the package tells why
	}
	if p := planner.Load(key); p != nil {
		o.Choose = p.Choose(o.Schedule)
		a.note("shape: by the profile of %s UTC; --plan off runs without it", p.Taken.Format(time.DateTime))
	}
	return nil
}
