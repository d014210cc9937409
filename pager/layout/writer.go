package layout

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"estream/pager/crc32c"
)

// A Writer fills a package at planned places. Until [Writer.Finish] the package
// is within the directory dir.partial, which nothing takes for a package, beside
// a lock and a journal of what is durable:
//
//	W1 what has the package's name is whole, durable and the package's files alone
//	W2 what the journal says is on flash was synced before it was said
//	W3 the files' bytes depend on the plan and the payloads alone, not on the order
//	   of calls, nor on how often a writer was killed
//
// Expert, Dense, Rows and Companion may be called from several goroutines at once
// and in any order; Finish and Stop only after they have returned.
type Writer struct {
	dir, partial string
	plan         Plan
	fresh        bool     // nothing in partial is worth keeping yet
	root         *os.Root // partial: everything in it is reached through this
	lock         *os.File
	newLock      bool // made by a writer that has not begun
	experts      *recordFile
	dense        *recordFile
	rows         map[string]*rowRuns
	journal      journal
	finished     bool

	syncing sync.Mutex // held while data is made durable and entered
	broken  error      // why no more can be entered

	mu         sync.Mutex
	companions []FileSum
}

// A Payload writes a record's bytes, from the first to the last, and returns the
// factors of its weights, which are the writer's from then on.
type Payload func(w io.Writer) (factors []float32, err error)

func newWriter(dir string, plan Plan, o CreateOptions) *Writer {
	w := &Writer{dir: dir, partial: dir + partialSuffix, plan: plan, rows: map[string]*rowRuns{}}
	for _, r := range plan.Rows {
		w.rows[r.Name] = newRowRuns(r)
	}
	w.experts = newRecordFile(bounds{ExpertsName, plan.Align, plan.Experts}, expertName)
	w.dense = newRecordFile(bounds{DenseName, plan.Align, plan.Dense}, denseName)
	w.journal.limit = cmp.Or(o.Sync, syncBytes)
	w.journal.head = header{journalVersion, append(slices.Clone(plan.Identity),
		KeyValue{"alignment", fmt.Sprint(plan.Align)},
		KeyValue{"size of " + ExpertsName, fmt.Sprint(plan.Experts)},
		KeyValue{"size of " + DenseName, fmt.Sprint(plan.Dense)})}
	return w
}

// Kept is how many bytes of records and rows are durable and need not be made
// again: right after Create, what an earlier writer made.
func (w *Writer) Kept() int64 {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	return w.journal.kept
}

// Expert has p write an expert's record at its offset, unless an earlier writer
// has. CRC and factors of r are not looked at.
func (w *Writer) Expert(r Record, p Payload) error { return w.record(w.experts, r, p) }

// Dense is Expert for records of dense.bin.
func (w *Writer) Dense(r Record, p Payload) error { return w.record(w.dense, r, p) }

func (w *Writer) record(f *recordFile, r Record, p Payload) error {
	e, done, err := f.write(r, p)
	if err != nil || done {
		return err
	}
	return w.wrote(e)
}

// Rows writes n rows of a planned region, from row first on, unless an earlier
// writer has: rows gives RowBytes for each, with nothing between.
func (w *Writer) Rows(name string, first, n int64, rows func() ([]byte, error)) error {
	runs, ok := w.rows[name]
	if !ok {
		return &Error{DenseName, rowsName(Region{Name: name}), "was not planned"}
	}
	e, done, err := runs.write(w.dense, first, n, rows)
	if err != nil || done {
		return err
	}
	return w.wrote(e)
}

// wrote takes e into the journal, some time.
func (w *Writer) wrote(e entry) error {
	due, err := w.journal.add(e)
	if err != nil || !due {
		return err
	}
	return w.sync()
}

// sync makes what was written durable and enters it. A file that could not be
// synced may have lost anything, so that nothing is entered after it.
func (w *Writer) sync() error {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if w.broken != nil {
		return w.broken
	}
	lines, bytes := w.journal.take()
	if len(lines) == 0 {
		return nil
	}
	w.broken = errors.Join(w.experts.Sync(), w.dense.Sync())
	if w.broken == nil {
		w.broken = w.journal.enter(lines, bytes)
	}
	return w.broken
}

// Companion copies r into a file of that name, which Finish lists.
func (w *Writer) Companion(name string, r io.Reader) error {
	if err := checkFileName(name); err != nil {
		return err
	}
	if !slices.Contains(w.plan.CompanionNames, name) {
		return &Error{name, "", "was not planned"}
	}
	path := insidePath(name)
	f, err := newFile(w.root, path)
	if err != nil {
		return err
	}
	var sum crc32c.Sum
	size, err := io.Copy(io.MultiWriter(f, &sum), r)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, errors.Join(err, w.root.Remove(path)))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.companions = append(w.companions, FileSum{name, size, uint32(sum)})
	return nil
}

// Stop ends the writing. Unless Finish has succeeded, what was written is made
// durable and kept for a later Create of the same plan; where that is nothing,
// nothing is left. After Finish it does nothing, so that it may be deferred.
func (w *Writer) Stop() (kept int64, err error) {
	if w.finished {
		return 0, nil
	}
	err = w.sync()
	w.fresh = w.Kept() == 0
	return w.Kept(), errors.Join(err, w.release())
}

// release closes what is open, and removes what is not worth keeping.
func (w *Writer) release() error {
	for _, f := range []*os.File{w.experts.File, w.dense.File, w.journal.f} {
		if f != nil {
			f.Close() // Finish may have closed it; what counts was synced
		}
	}
	var err error
	switch {
	case w.root == nil:
		return nil
	case w.lock == nil:
		return w.root.Close()
	case w.fresh:
		err = w.remove()
	case w.newLock:
		err = w.root.Remove(lockName)
	}
	return errors.Join(err, w.lock.Close(), w.root.Close())
}

// remove removes the unfinished package. From when the lock is gone the directory
// may be another writer's.
func (w *Writer) remove() error {
	if err := w.clear(); err != nil {
		return err
	}
	os.Remove(w.partial) // unless it is another's
	return nil
}

// openFiles opens the two files and looks for room.
func (w *Writer) openFiles() (err error) {
	for _, f := range []*recordFile{w.experts, w.dense} {
		if f.File, err = w.openRecords(f.bounds.file); err != nil {
			return err
		}
	}
	return w.fits()
}

// extend gives the files their full lengths, so that padding is zero without
// being written.
func (w *Writer) extend() error {
	return errors.Join(w.experts.Truncate(w.plan.Experts), w.dense.Truncate(w.plan.Dense), syncDir(w.inside()))
}
