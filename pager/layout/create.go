package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// lockName is the file, in an unfinished package only, that its writer holds
// locked.
const lockName = "lock"

// A Plan is the sizes of a package, known before any of it is written.
type Plan struct {
	Align      int64
	Experts    int64    // length of experts.bin in bytes, as Place gives it
	Dense      int64    // length of dense.bin in bytes
	Rows       []Region // where each lies in dense.bin; Blocks and Factor are not used
	Companions int64    // bytes of the companions and artifacts together, about
}

// Create begins the package dir, for which the plan's bytes must be free. There
// must be nothing at dir, and nothing at dir.partial: what an interrupted
// conversion left there is refused, and the text says how to go on.
func Create(dir string, plan Plan) (*Writer, error) {
	dir = filepath.Clean(dir)
	if err := plan.check(); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	partial := dir + partialSuffix
	switch {
	case strings.HasSuffix(dir, partialSuffix):
		return nil, fmt.Errorf("create %s: names that end in %s are for unfinished packages; name another", dir, partialSuffix)
	case exists(dir):
		return nil, fmt.Errorf("create %s: it is there already, and a package is never written over; remove it or name another: %w", dir, fs.ErrExist)
	case exists(partial):
		return nil, leftover(partial)
	}
	if err := plan.fits(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	if err := os.Mkdir(partial, 0o777); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	w := &Writer{dir: dir, partial: partial, plan: plan, rows: map[string]*rowRuns{}}
	for _, r := range plan.Rows {
		w.rows[r.Name] = &rowRuns{region: r}
	}
	if err := w.openFiles(); err != nil {
		return nil, errors.Join(fmt.Errorf("create %s: %w", dir, err), w.Abort())
	}
	return w, nil
}

func (p Plan) check() error {
	if err := checkAlign(p.Align); err != nil {
		return err
	}
	if p.Experts < 0 || p.Dense < 0 || p.Companions < 0 {
		return fmt.Errorf("plan: sizes %d, %d and %d are impossible", p.Experts, p.Dense, p.Companions)
	}
	for _, r := range p.Rows {
		if rule := (bounds{DenseName, p.Align, p.Dense}).region(r); rule != "" {
			return &Error{DenseName, rowsName(r), rule}
		}
	}
	return nil
}

// fits checks that parent's file system has room.
func (p Plan) fits(parent string) error {
	free, err := freeSpace(parent)
	if err != nil {
		return err
	}
	left := free
	for _, need := range []int64{p.Experts, p.Dense, p.Companions} {
		if left -= need; left < 0 { // need and left are not negative: no overflow
			return fmt.Errorf("%d + %d + %d bytes are needed and %d are free in %s; make room or name another place", p.Experts, p.Dense, p.Companions, free, parent)
		}
	}
	return nil
}

// leftover is the error for a partial directory that is there already.
func leftover(partial string) error {
	f, err := os.OpenFile(filepath.Join(partial, lockName), os.O_RDWR, 0)
	if err == nil {
		defer f.Close()
		if locked(f) {
			return fmt.Errorf("create %s: another estream is writing it; wait for it or name another: %w", partial, fs.ErrExist)
		}
	}
	return fmt.Errorf("create %s: left by a conversion that did not finish; remove it and start again: %w", partial, fs.ErrExist)
}

// openFiles takes the lock and makes the two files.
func (w *Writer) openFiles() error {
	for _, name := range []string{lockName, ExpertsName, DenseName} {
		f, err := newFile(w.path(name))
		if err != nil {
			return err
		}
		w.open = append(w.open, f)
	}
	if err := lock(w.open[0]); err != nil {
		return err
	}
	w.experts = newRecordFile(w.open[1], bounds{ExpertsName, w.plan.Align, w.plan.Experts}, expertName)
	w.dense = newRecordFile(w.open[2], bounds{DenseName, w.plan.Align, w.plan.Dense}, denseName)
	return errors.Join(w.experts.extend(), w.dense.extend())
}
