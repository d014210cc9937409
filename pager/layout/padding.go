package layout

import (
	"bytes"
	"cmp"
	"slices"
)

// cleanPadding makes what lies between the payloads zero where a file is an
// earlier writer's: the journal tells of payloads only. In a new file it is.
func (w *Writer) cleanPadding(m *Manifest) error {
	if w.fresh {
		return nil
	}
	var experts, dense []section
	for _, r := range m.Experts {
		experts = append(experts, section{offset: r.Offset, length: r.Length})
	}
	for _, r := range m.Dense {
		dense = append(dense, section{offset: r.Offset, length: r.Length})
	}
	for _, r := range m.Rows {
		dense = append(dense, section{offset: r.Offset, length: r.Size()})
	}
	if err := w.experts.cleanBetween(experts); err != nil {
		return err
	}
	return w.dense.cleanBetween(dense)
}

// cleanBetween makes all of the file zero but for the payloads.
func (f *recordFile) cleanBetween(payloads []section) error {
	slices.SortFunc(payloads, func(a, b section) int { return cmp.Compare(a.offset, b.offset) })
	var end int64
	for _, p := range append(payloads, section{offset: f.bounds.size}) {
		if err := f.clean(end, p.offset); err != nil {
			return err
		}
		end = p.offset + p.length
	}
	return nil
}

// clean makes the bytes of a stretch zero. Those that are stay unwritten, so
// that holes stay holes.
func (f *recordFile) clean(from, to int64) error {
	zeros := make([]byte, min(readSize, max(0, to-from)))
	buf := make([]byte, len(zeros))
	for from < to {
		n := min(int64(len(buf)), to-from)
		if _, err := f.ReadAt(buf[:n], from); err != nil {
			return err
		}
		if !bytes.Equal(buf[:n], zeros[:n]) {
			if _, err := f.WriteAt(zeros[:n], from); err != nil {
				return err
			}
		}
		from += n
	}
	return nil
}
