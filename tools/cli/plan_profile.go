package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"estream/runtime"
	"estream/runtime/planner"
	"estream/tools/calibrate"
)

// A subject is a package that is planned. Its predict closes the model.
type subject struct {
	planFlags
	dir     string
	options runtime.Options
	model   *runtime.Model
	planner *planner.Planner
	kept    string // where the profile is from
}

// subject opens a package with the profile that is kept, or measures one and keeps it if it can. What fits in no shape is
// refused before anything is measured.
func (a *App) subject(ctx context.Context, dir string, f planFlags, o runtime.Options) (*subject, error) {
	key, err := f.profileKey(dir, o.Threads)
	if err != nil {
		return nil, err
	}
	was, begun, doing := planner.Load(key), time.Now(), "planning on "
	if was == nil || f.fresh {
		doing = "measuring on "
	}
	bar := a.ongoing(ctx)
	told := bar.tells(ctx, doing+f.backend)
	x, err := until(ctx, func() (*subject, error) { return (&subject{planFlags: f, dir: dir, options: o}).open(told, key, was) })
	bar.end()
	if x != nil {
		a.noteUnused(dir, x.model.Unused(), x.model.Manifest().Artifacts, f.routing)
	}
	if err != nil {
		return nil, err
	}
	p := x.planner.Profile
	if p == was {
		x.kept = "measured " + p.Taken.Format(time.DateTime) + " UTC; --fresh measures anew"
		return x, nil
	}
	x.kept = fmt.Sprintf("measured in %.1f s", time.Since(begun).Seconds())
	if _, err := p.Save(); err != nil {
		a.note("note: the profile is not kept for the next time: %v", err)
	}
	return x, nil
}

// open opens the package with the profile that was kept of a key, if it was, or measures one. With an error the package is
// closed, and returned if it was open.
func (x *subject) open(ctx context.Context, key string, was *planner.Profile) (_ *subject, err error) {
	o, sampler := x.options, (*planner.Sampler)(nil)
	if !x.apart() {
		sampler = planner.NewSampler(&o)
	}
	if x.model, err = opened(ctx, x.dir, o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.model.Close())
		}
	}()
	x.planner = &planner.Planner{Profile: was, Package: planner.Describe(x.model), Schedule: o.Schedule, Limit: x.limitBytes}
	for i, n := range x.asked {
		switch err := x.fits(ctx, n); {
		case err != nil && i > 0:
			return x, fmt.Errorf("%d tokens: %w; what was asked for before fits", n, err)
		case err != nil:
			return x, fmt.Errorf("%d tokens: %w", n, err)
		}
	}
	if was != nil && !x.fresh {
		return x, nil
	}
	if sampler == nil {
		x.planner.Profile, err = planner.Measure(ctx, x.dir, key, x.options)
	} else {
		x.planner.Profile, err = sampler.Measure(ctx, x.model, key)
	}
	return x, err
}

// apart reports whether what is measured is another model than what plans. A device takes seconds to make the graphs of a
// model, so it is the same, but where the budget says how many layers have their weights inside. The host takes none, and
// what its runs leave in memory is of no later plan.
func (x *subject) apart() bool {
	return x.options.Device == nil || x.options.Inside && x.options.Memory > 0
}

// profileKey names the profile of a package that runs as the flags say.
func (f runFlags) profileKey(dir string, threads int) (string, error) {
	how := []string{cmp.Or(f.backend, "host"), cmp.Or(f.source, "file"), f.readLimit, cmp.Or(f.checksum, "always")}
	if f.routing != nil && how[0] != "host" { // whose graphs a calibration sizes
		if text, err := os.ReadFile(filepath.Join(dir, calibrate.Name)); err == nil {
			how = append(how, fmt.Sprintf("calibration %x", sha256.Sum256(text)))
		}
	}
	return planner.Key(dir, threads, strings.Join(how, " "))
}
