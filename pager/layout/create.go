package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// ErrFinished means that the package is there, made by this very plan: its
// writer was killed after it had given the package its name.
var ErrFinished = errors.New("the package is finished")

// A Plan is the sizes of a package, known before any of it is written.
type Plan struct {
	Align      int64
	Experts    int64    // length of experts.bin in bytes, as Place gives it
	Dense      int64    // length of dense.bin in bytes
	Rows       []Region // where each lies in dense.bin; Blocks and Factor are not used
	Companions int64    // bytes of the companions, artifacts and manifest together, about

	// CompanionNames are those of the companions that the writer may write, and that
	// an earlier one may have left. A file of another name is never removed.
	CompanionNames []string

	// Identity is what the package is made from and how. Plans of the same identity
	// and sizes make the same package byte for byte, so one goes on where a writer
	// of another stopped.
	Identity []KeyValue
}

// CreateOptions are how a writer begins, and how it goes on.
type CreateOptions struct {
	Restart bool  // discard what an earlier writer left
	Sync    int64 // bytes after which what was written is made durable; 0: 256 MiB

	// Checked, where set, is told of bytes of an earlier writer's records as they
	// are read again.
	Checked func(done, total int64)
}

// Create begins the package dir, or goes on with it where a writer of the same
// plan left dir.partial: its records are read again, those whose checksums are
// right are kept, and ctx ends that. What the plan needs beyond them must be
// free. A package is never written over, and what a writer with another plan
// left, or one that is still at work, is refused; the text says how to go on. A
// refusal changes nothing, and an error from a new beginning leaves nothing.
func Create(ctx context.Context, dir string, plan Plan, o CreateOptions) (*Writer, error) {
	dir = filepath.Clean(dir)
	w := newWriter(dir, plan, o)
	err := plan.check()
	if err == nil {
		err = w.begin(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create %s: %w", dir, err), w.release())
	}
	return w, nil
}

func (w *Writer) begin(ctx context.Context, o CreateOptions) error {
	switch {
	case strings.HasSuffix(w.dir, partialSuffix):
		return fmt.Errorf("names that end in %s are for unfinished packages; name another", partialSuffix)
	case exists(w.dir):
		return w.there()
	}
	if err := w.claim(); err != nil {
		return err
	}
	if o.Restart {
		w.fresh = true
		if err := w.clear(insideName, lockName); err != nil {
			return err
		}
	}
	earlier, err := w.earlier()
	if err != nil {
		return err
	}
	if w.fresh {
		if err := w.found(); err != nil {
			return err
		}
	}
	if err := w.clear(insidePath(ExpertsName), insidePath(DenseName), insideName, journalName, lockName); err != nil {
		return err
	}
	if err := w.openFiles(); err != nil {
		return err
	}
	if err := w.recheck(ctx, earlier, o.Checked); err != nil {
		return fmt.Errorf("check of what %s has: %w", w.partial, err)
	}
	w.newLock = false
	return w.extend()
}

// there is the error for a dir that exists. Where that is what a writer was
// killed over when it had only its own files left to remove, they are removed;
// as long as its journal is there, it tells whether the package is of this plan.
func (w *Writer) there() error {
	there := fmt.Errorf("it is there already, and a package is never written over; remove it or name another: %w", fs.ErrExist)
	if !exists(w.partial) || exists(w.inside()) || w.claim() != nil {
		return there
	}
	if !exists(w.path(journalName)) {
		w.fresh = w.empty() == nil
		return there
	}
	if _, err := w.earlier(); err != nil {
		return there
	}
	if _, err := Open(w.dir); err != nil {
		return there
	}
	w.fresh = true
	return ErrFinished
}

// found lays the ground for a new beginning: the journal comes last, so that
// where there is one without a directory inside, that has become the package.
func (w *Writer) found() error {
	if err := w.root.Mkdir(insideName, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := w.journal.rewrite(w.root, nil); err != nil {
		return err
	}
	return errors.Join(syncDir(w.partial), syncDir(filepath.Dir(w.dir)))
}

// claim makes the directory of the unfinished package, or finds it, and takes
// its lock. What is not a writer's is refused before anything is changed.
func (w *Writer) claim() error {
	err := os.Mkdir(w.partial, 0o777)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made := err == nil
	if w.root, err = openPartial(w.partial); err != nil {
		return err
	}
	if err := w.survey(); err != nil {
		return err
	}
	f, first, err := w.openLock()
	if err != nil {
		if made {
			os.Remove(w.partial)
		}
		return err
	}
	ok, err := lock(f)
	if err == nil && ok {
		ok, err = current(w.root, f)
	}
	if err != nil || !ok {
		f.Close()
		if err == nil {
			err = fmt.Errorf("another estream is writing %s; wait for it or name another: %w", w.partial, fs.ErrExist)
		}
		return err
	}
	w.lock, w.newLock, w.fresh = f, first, made
	return nil
}

// openLock opens the lock and reports whether it was made for that.
func (w *Writer) openLock() (f *os.File, first bool, err error) {
	f, err = newFile(w.root, lockName)
	if !errors.Is(err, fs.ErrExist) {
		return f, err == nil, err
	}
	f, err = w.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o666)
	return f, false, err
}

// current reports whether f is still what the name of the lock leads to: a writer
// that finished removes the lock it holds.
func current(root *os.Root, f *os.File) (bool, error) {
	held, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := root.Lstat(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, named), err
}

func (p Plan) check() error {
	if err := checkAlign(p.Align); err != nil {
		return err
	}
	if min(p.Experts, p.Dense, p.Companions) < 0 || max(p.Experts, p.Dense, p.Companions) > math.MaxInt64/4 {
		return fmt.Errorf("plan: sizes %d, %d and %d are impossible", p.Experts, p.Dense, p.Companions)
	}
	for _, name := range p.CompanionNames {
		if err := checkFileName(name); err != nil {
			return err
		}
	}
	for _, r := range p.Rows {
		if rule := (bounds{DenseName, p.Align, p.Dense}).region(r); rule != "" {
			return &Error{DenseName, rowsName(r), rule}
		}
	}
	return nil
}

// fits checks that there is room for what is still needed.
func (w *Writer) fits() error {
	need, err := w.need()
	if err != nil {
		return err
	}
	free, err := FreeSpace(w.partial)
	if err != nil {
		return err
	}
	if need > free {
		return fmt.Errorf("%d bytes are still to be written and %d are free in %s; make room for %d more or name another place", need, free, filepath.Dir(w.dir), need-free)
	}
	return nil
}

// need is how many bytes of the disk the plan takes beyond what the files have.
func (w *Writer) need() (int64, error) {
	need := w.plan.Companions
	for _, f := range []*recordFile{w.experts, w.dense} {
		has, err := allocated(f.File)
		if err != nil {
			return 0, err
		}
		need += max(0, f.bounds.size-has)
	}
	return need, nil
}
