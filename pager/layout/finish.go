package layout

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Finish sets the version, alignment, files, checksums and records' factors of
// m, whose records and regions must be what was written, makes everything durable
// and gives the package its name. After an error there is still no package: Stop.
func (w *Writer) Finish(m *Manifest) error {
	if err := w.finish(m); err != nil {
		return fmt.Errorf("finish %s: %w", w.dir, err)
	}
	return nil
}

func (w *Writer) finish(m *Manifest) error {
	if err := w.sync(); err != nil {
		return err
	}
	if err := w.fill(m); err != nil {
		return err
	}
	manifest, err := Encode(m)
	if err != nil {
		return err
	}
	if err := w.cleanPadding(m); err != nil {
		return err
	}
	if err := errors.Join(w.experts.finish(), w.dense.finish()); err != nil {
		return err
	}
	if err := writeFile(w.root, insidePath(ManifestName), manifest); err != nil {
		return err
	}
	if err := syncDir(w.inside()); err != nil {
		return err
	}
	if exists(w.dir) {
		return fmt.Errorf("somebody else made it meanwhile: %w", fs.ErrExist)
	}
	if err := os.Rename(w.inside(), w.dir); err != nil {
		return err
	}
	w.finished, w.fresh = true, true // what is left is the lock and the journal
	return errors.Join(syncDir(filepath.Dir(w.dir)), w.release())
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
