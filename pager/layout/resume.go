package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// earlier returns what the journal of an earlier writer with this plan says. A
// directory without anything is a new beginning.
func (w *Writer) earlier() ([]entry, error) {
	head, entries, err := readJournal(w.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, w.empty()
	}
	if err == nil {
		if d := differs(head.Identity, w.journal.head.Identity); d != "" {
			return nil, fmt.Errorf("%s was begun with other arguments or from other sources: %s; repeat the first, or discard it with --restart: %w", w.partial, d, fs.ErrExist)
		}
		return entries, nil
	}
	return nil, fmt.Errorf("%s has a journal that cannot be used: %w; discard it with --restart", w.partial, err)
}

// empty checks that nothing but a writer's first steps is in the directory, which
// holds what writers make.
func (w *Writer) empty() error {
	entries, err := fs.ReadDir(w.root.FS(), insideName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds %s and no journal to go on by; remove it, or discard it with --restart: %w", w.partial, insidePath(entries[0].Name()), fs.ErrExist)
	}
	w.fresh = true
	return nil
}

// recheck reads what entries are of and takes in what is as they say. Data is
// synced before it is entered, so that a kill or a loss of power leaves nothing
// wrong; but disks that lie about it, and hands that touch the files, are found
// here, and reading is cheap beside making. What is wrong is made again.
func (w *Writer) recheck(ctx context.Context, entries []entry, checked func(done, total int64)) error {
	r := &rereader{buf: make([]byte, readSize), progress: checked}
	for _, e := range entries {
		r.total += max(0, e.Length)
	}
	var kept []entry
	for _, e := range entries {
		f := w.fileOf(e)
		if f == nil {
			continue
		}
		got, err := r.sum(ctx, f, section{"", e.Offset, e.Length, e.CRC})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
			return err
		case err == nil && got == e.CRC:
			kept = append(kept, e)
		}
	}
	for _, e := range kept {
		w.keep(e)
	}
	return w.journal.rewrite(w.root, kept)
}

// fileOf returns the file that e is in; nil where the plan has no such thing.
func (w *Writer) fileOf(e entry) *recordFile {
	f := map[string]*recordFile{ExpertsName: w.experts, DenseName: w.dense}[e.File]
	if f == nil {
		return nil
	}
	if e.Rows == "" {
		r := Record{Layer: e.Layer, Index: int(e.Index), Offset: e.Offset, Length: e.Length}
		if f.bounds.record(r) != "" || factors(e.Factors) != "" {
			return nil
		}
		return f
	}
	rows := w.rows[e.Rows]
	if rows == nil || f != w.dense || rows.check(e.Index, e.Count) != nil {
		return nil
	}
	if offset, length := rows.place(e.Index, e.Count); e.Offset != offset || e.Length != length {
		return nil
	}
	return f
}

// keep takes in what an earlier writer made.
func (w *Writer) keep(e entry) {
	if e.Rows != "" {
		w.rows[e.Rows].kept[rowRun{e.Index, e.Count}] = true
	} else {
		w.fileOf(e).kept[recordKey{e.Layer, int(e.Index)}] = placed{e.Offset, e.Length, e.CRC, e.Factors}
	}
}
