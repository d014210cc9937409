package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"

	"estream/tools/pack"
)

// convert runs a conversion with options o, shows how far it is, holds its memory,
// and says how to go on if it is interrupted.
func (a *App) convert(ctx context.Context, what string, o *pack.Options, run func() (*pack.Report, error)) (*pack.Report, error) {
	if err := checkSizes(*o); err != nil {
		return nil, err
	}
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, pack.Memory))
	defer debug.SetMemoryLimit(before)
	checking, bar := a.progress("checking"), a.progress(what)
	o.Checked, o.Progress = checking.update, bar.update
	o.Resumed = func(kept, total int64) {
		checking.end()
		a.note("going on where an earlier run stopped: %s of %s were made", formatSize(kept), formatSize(total))
	}
	report, err := run()
	bar.end()
	var u *pack.Unfinished
	if errors.As(err, &u) && ctx.Err() != nil {
		a.note("%s", u.HowToGoOn())
	}
	if err != nil {
		return nil, err
	}
	for _, n := range report.Notes {
		a.note("note: %s", n)
	}
	return report, nil
}

// pace says how long a conversion took, and how much memory.
func pace(r *pack.Report) string {
	s := fmt.Sprintf("in %.1f s (%s/s)", r.Elapsed.Seconds(), formatSize(int64(r.Rate())))
	if r.Kept > 0 {
		s += fmt.Sprintf(" after the %.1f %% that an earlier run had made", 100*r.Kept)
	}
	if r.Peak > 0 {
		s += ", peak memory " + formatSize(r.Peak)
	}
	return s
}

// reportJSON adds what conversions have in common to fields.
func reportJSON(r *pack.Report, fields map[string]any) map[string]any {
	maps.Copy(fields, map[string]any{
		"family": r.Family, "policy": keyValuesJSON(r.Policy), "notes": r.Notes, "read_bytes": r.Read, "written_bytes": r.Written, "kept": r.Kept,
		"elapsed_s": r.Elapsed.Seconds(), "bytes_per_s": r.Rate(), "peak_bytes": r.Peak,
	})
	return fields
}
