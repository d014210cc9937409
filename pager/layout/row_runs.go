package layout

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"
)

// A rowRuns is a region while it is written: which rows were.
type rowRuns struct {
	region Region

	mu   sync.Mutex
	runs []rowRun
}

type rowRun struct{ first, n int64 }

// write puts whole rows of RowBytes each at their stride, from row first on.
func (w *rowRuns) write(f io.WriterAt, first int64, data []byte) error {
	r := w.region
	n := int64(len(data)) / r.RowBytes
	if n == 0 || int64(len(data))%r.RowBytes != 0 {
		return w.wrong("%d bytes are not rows of %d", len(data), r.RowBytes)
	}
	if first < 0 || first > r.Rows-n {
		return w.wrong("rows %d to %d, and there are %d", first, first+n-1, r.Rows)
	}
	if r.RowStride > r.RowBytes {
		data = spread(data, r.RowBytes, r.RowStride)
	}
	if _, err := f.WriteAt(data, r.Offset+first*r.RowStride); err != nil {
		return fmt.Errorf("%s: %w", rowsName(r), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, rowRun{first, n})
	return nil
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
		out[i] = crc32.Checksum(buf[:length], castagnoli)
	}
	return out, nil
}
