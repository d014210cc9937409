package layout

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A Writer fills a package at planned places. Until [Writer.Finish] it is the
// directory dir.partial, which nothing takes for a package. Expert, Dense, Rows
// and Companion may be called from several goroutines at once and in any order;
// Finish and Abort only after they have returned. A payload is the caller's
// again when the call returns.
type Writer struct {
	dir, partial string
	plan         Plan
	open         []*os.File // until the end: the lock, then those below
	experts      *recordFile
	dense        *recordFile
	rows         map[string]*rowRuns
	finished     bool

	mu         sync.Mutex
	companions []FileSum
}

// Expert writes the payload of an expert's record at its offset. CRC and factors
// of r are not looked at.
func (w *Writer) Expert(r Record, payload []byte) error { return w.experts.write(r, payload) }

// Dense is Expert for records of dense.bin.
func (w *Writer) Dense(r Record, payload []byte) error { return w.dense.write(r, payload) }

// Rows writes rows of a planned region, from row first on: data is RowBytes for
// each, with nothing between.
func (w *Writer) Rows(name string, first int64, data []byte) error {
	rows, ok := w.rows[name]
	if !ok {
		return &Error{DenseName, rowsName(Region{Name: name}), "was not planned"}
	}
	return rows.write(w.dense, first, data)
}

// Companion copies r into a file of that name, which Finish lists.
func (w *Writer) Companion(name string, r io.Reader) error {
	if err := checkFileName(name); err != nil {
		return err
	}
	f, err := newFile(w.path(name))
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	size, err := io.Copy(io.MultiWriter(f, sum), r)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, errors.Join(err, os.Remove(w.path(name))))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.companions = append(w.companions, FileSum{name, size, sum.Sum32()})
	return nil
}

// Finish sets the version, alignment, files and checksums of m, whose records
// and regions must be what was written, makes everything durable and gives the
// package its name. After an error there is still no package: Abort.
func (w *Writer) Finish(m *Manifest) error {
	if err := w.finish(m); err != nil {
		return fmt.Errorf("finish %s: %w", w.dir, err)
	}
	return nil
}

func (w *Writer) finish(m *Manifest) error {
	if err := w.fill(m); err != nil {
		return err
	}
	manifest, err := Encode(m)
	if err != nil {
		return err
	}
	if err := errors.Join(w.experts.finish(), w.dense.finish()); err != nil {
		return err
	}
	if err := writeFile(w.path(ManifestName), manifest); err != nil {
		return err
	}
	if err := errors.Join(w.open[0].Close(), os.Remove(w.path(lockName)), syncDir(w.partial)); err != nil {
		return err
	}
	if exists(w.dir) {
		return fmt.Errorf("somebody else made it meanwhile: %w", fs.ErrExist)
	}
	if err := os.Rename(w.partial, w.dir); err != nil {
		return err
	}
	w.finished = true
	return syncDir(filepath.Dir(w.dir))
}

func (w *Writer) fill(m *Manifest) error {
	m.Version, m.Align = Version, w.plan.Align
	if err := w.experts.fill(m.Experts); err != nil {
		return err
	}
	if err := w.dense.fill(m.Dense); err != nil {
		return err
	}
	if err := w.fillRows(m.Rows); err != nil {
		return err
	}
	m.Files = append([]FileSum{{Name: ExpertsName, Size: w.plan.Experts}, {Name: DenseName, Size: w.plan.Dense}}, w.companions...)
	slices.SortFunc(m.Files, func(a, b FileSum) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (w *Writer) fillRows(regions []Region) error {
	if len(regions) != len(w.rows) {
		return &Error{DenseName, "", fmt.Sprintf("%d regions were planned, the manifest has %d", len(w.rows), len(regions))}
	}
	for i := range regions {
		r := &regions[i]
		rows, ok := w.rows[r.Name]
		if !ok {
			return &Error{DenseName, rowsName(*r), "was not planned"}
		}
		if p := rows.region; p.Offset != r.Offset || p.Rows != r.Rows || p.RowStride != r.RowStride || p.RowBytes != r.RowBytes {
			return rows.wrong("is not as planned")
		}
		if err := rows.complete(); err != nil {
			return err
		}
		var err error
		if r.Blocks, err = rows.sums(w.dense); err != nil {
			return err
		}
	}
	return nil
}

// Abort removes what was written. After a Finish without error it does nothing,
// so that it may be deferred.
func (w *Writer) Abort() error {
	if w.finished {
		return nil
	}
	for _, f := range w.open {
		f.Close() // Finish may have closed it, and it is removed anyway
	}
	return os.RemoveAll(w.partial)
}

func (w *Writer) path(name string) string { return filepath.Join(w.partial, name) }

// newFile creates a file that must not be there.
func newFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func writeFile(path string, data []byte) error {
	f, err := newFile(path)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}
