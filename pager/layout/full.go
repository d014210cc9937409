package layout

import (
	"errors"
	"syscall"
)

// Full reports whether an error is of a disk, or of a user's share of one, that has no room left.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
