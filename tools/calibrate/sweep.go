package calibrate

import (
	"regexp"

	"estream/pager/layout"
)

// leftover is the name of a calibration that is being written.
var leftover = regexp.MustCompile(`^` + regexp.QuoteMeta(Name) + `\.[0-9]+$`)

// Sweep removes from a package calibrations that were not finished by processes that have
// ended.
func Sweep(dir string) error { return layout.Sweep(dir, leftover.MatchString) }
