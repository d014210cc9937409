package pack

import (
	"context"
	"errors"
	"fmt"

	"estream/pager/layout"
)

// An Unfinished is a conversion that failed or was cancelled, and left what it
// had made.
type Unfinished struct {
	Dir         string // where the package is to be
	Kept, Total int64  // bytes of records: durable, and in all
	Err         error  // why
}

func (u *Unfinished) Error() string { return u.HowToGoOn() + ": " + u.Err.Error() }

func (u *Unfinished) Unwrap() error { return u.Err }

// HowToGoOn says how much is kept and what to do.
func (u *Unfinished) HowToGoOn() string {
	if errors.Is(u.Err, errChanged) {
		return u.Dir + " is unfinished"
	}
	do := "run the same command again to go on"
	switch {
	case layout.Full(u.Err):
		do = "the disk is full: make room and run the same command again to go on"
	case !errors.Is(u.Err, context.Canceled):
		do = "mend the cause and run the same command again to go on"
	}
	return fmt.Sprintf("%s is unfinished, %.1f %% of it is kept; %s, or with --restart to begin anew", u.Dir, 100*float64(u.Kept)/float64(u.Total), do)
}

// stop ends a conversion that failed with err.
func (j *job) stop(w *layout.Writer, dir string, err error) error {
	kept, e := w.Stop()
	if err = errors.Join(err, e); kept == 0 {
		return err
	}
	return &Unfinished{dir, kept, j.total(), err}
}
