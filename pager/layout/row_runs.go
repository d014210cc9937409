package layout

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"estream/pager/crc32c"
)

// A rowRuns is a region while it is written: which rows were.
type rowRuns struct {
	region Region
	kept   map[rowRun]bool // by an earlier writer; not changed once writing begins

	mu   sync.Mutex
	runs []rowRun
}

type rowRun struct{ first, n int64 }

func newRowRuns(r Region) *rowRuns { return &rowRuns{region: r, kept: map[rowRun]bool{}} }

// write puts n whole rows at their stride, from row first on, and returns their
// entry, or that an earlier writer has made them.
func (w *rowRuns) write(f io.WriterAt, first, n int64, rows func() ([]byte, error)) (e entry, done bool, err error) {
	if err := w.check(first, n); err != nil {
		return e, false, err
	}
	if w.kept[rowRun{first, n}] {
		w.add(rowRun{first, n})
		return e, true, nil
	}
	data, err := rows()
	if err != nil {
		return e, false, err
	}
	r := w.region
	if int64(len(data)) != n*r.RowBytes {
		return e, false, w.wrong("%d bytes are not %d rows of %d", len(data), n, r.RowBytes)
	}
	if r.RowStride > r.RowBytes {
		data = spread(data, r.RowBytes, r.RowStride)
	}
	offset, length := w.place(first, n)
	if _, err := f.WriteAt(data, offset); err != nil {
		return e, false, fmt.Errorf("%s: %w", rowsName(r), err)
	}
	w.add(rowRun{first, n})
	return entry{File: DenseName, Rows: r.Name, Index: first, Count: n, Offset: offset, Length: length, CRC: crc32c.Checksum(data)}, false, nil
}

func (w *rowRuns) add(r rowRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, r)
}

// check checks that the region has such rows.
func (w *rowRuns) check(first, n int64) error {
	if n < 1 || first < 0 || n > w.region.Rows || first > w.region.Rows-n {
		return w.wrong("rows %d to %d, and there are %d", first, first+n-1, w.region.Rows)
	}
	return nil
}

// place is where rows lie in the file.
func (w *rowRuns) place(first, n int64) (offset, length int64) {
	return w.region.Offset + first*w.region.RowStride, n * w.region.RowStride
}

func (w *rowRuns) wrong(format string, args ...any) error {
	return &Error{DenseName, rowsName(w.region), fmt.Sprintf(format, args...)}
}

// spread copies rows to their stride, with zeros between.
func spread(data []byte, rowBytes, stride int64) []byte {
	n := int64(len(data)) / rowBytes
	out := make([]byte, n*stride)
	for i := range n {
		copy(out[i*stride:], data[i*rowBytes:(i+1)*rowBytes])
	}
	return out
}

// complete checks that each row was written, and once.
func (w *rowRuns) complete() error {
	slices.SortFunc(w.runs, func(a, b rowRun) int { return cmp.Compare(a.first, b.first) })
	var next int64
	for _, run := range append(w.runs, rowRun{w.region.Rows, 0}) {
		if run.first > next {
			return w.wrong("row %d was not written", next)
		}
		if run.first < next {
			return w.wrong("row %d is written twice", run.first)
		}
		next += run.n
	}
	return nil
}

// sums reads the region back and gives the checksums of its blocks.
func (w *rowRuns) sums(f io.ReaderAt) ([]uint32, error) {
	buf := make([]byte, min(BlockSize, w.region.Size()))
	out := make([]uint32, w.region.blocks())
	for i := range out {
		offset, length := w.region.Block(i)
		if _, err := f.ReadAt(buf[:length], offset); err != nil {
			return nil, fmt.Errorf("%s: %w", rowsName(w.region), err)
		}
		out[i] = crc32c.Checksum(buf[:length])
	}
	return out, nil
}
