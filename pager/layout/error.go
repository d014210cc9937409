package layout

import "errors"

// ErrNotPackage means that a directory is no package, or not yet.
var ErrNotPackage = errors.New("not a package")

// An Error is a rule of the format that a package, or a call that writes one,
// breaks.
type Error struct {
	File  string // of the package
	Thing string // record, region, field or the like; may be empty
	Rule  string // what is wrong, with the numbers
}

func (e *Error) Error() string {
	if e.Thing == "" {
		return e.File + ": " + e.Rule
	}
	return e.File + ": " + e.Thing + ": " + e.Rule
}
