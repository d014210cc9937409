package pack

import (
	"context"
	"fmt"
	"io"
	"os"

	"estream/lower"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/passes"
)

// A repacker makes records from those of another packing.
type repacker struct {
	*job
	old            *layout.Manifest
	from           lower.Packing
	oldRecords     map[string]passes.Record
	experts, dense *os.File
}

func (r *repacker) open(pkg *layout.Package) (err error) {
	if r.experts, err = os.Open(pkg.Path(layout.ExpertsName)); err == nil {
		r.dense, err = os.Open(pkg.Path(layout.DenseName))
	}
	for _, name := range []string{layout.ExpertsName, layout.DenseName} {
		if err == nil {
			err = r.watchFile(pkg.Path(name))
		}
	}
	if err != nil {
		r.close()
	}
	return err
}

// close closes the files, which were only read.
func (r *repacker) close() {
	for _, f := range []*os.File{r.experts, r.dense} {
		if f != nil {
			f.Close()
		}
	}
}

// oldParts is what the old record of t consists of.
func (r *repacker) oldParts(t task) (passes.Record, error) {
	switch {
	case t.columns[1] > 0:
		return r.oldRecords[passes.HeadProj].Bind(r.from, lower.Dims{"P": t.columns[1] - t.columns[0]})
	case t.dense:
		return r.oldRecords[r.man.Dense[t.index].Class], nil
	}
	return r.oldRecords[r.man.Experts[t.index].Class], nil
}

// record implements maker.
func (r *repacker) record(ctx context.Context, t task, out io.Writer) ([]float32, error) {
	record, weights, _, err := r.parts(t)
	if err != nil {
		return nil, err
	}
	olds, err := r.oldParts(t)
	if err != nil {
		return nil, err
	}
	old, file := r.old.Experts, r.experts
	if t.dense {
		old, file = r.old.Dense, r.dense
	}
	in := newSummed(file, old[t.index])
	w := padded{w: out}
	for i, rw := range weights {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		src, err := in.take(olds.Weights[i].Offset, olds.Weights[i].Size)
		if err != nil {
			return nil, err
		}
		dst, err := r.weight(src, rw)
		if err != nil {
			return nil, fmt.Errorf("weight %s of %s: %w", rw.Name, in.name, err)
		}
		if err := w.put(rw.Offset, dst); err != nil {
			return nil, err
		}
	}
	if err := in.finish(); err != nil {
		return nil, err
	}
	return old[t.index].Factors, w.put(record.Length, nil)
}

// weight arranges a weight anew; plain ones are the same in every packing.
func (r *repacker) weight(src []byte, rw passes.RecordWeight) ([]byte, error) {
	if !rw.Matrix || r.from.Name == r.o.Packing.Name {
		return src, nil
	}
	m, err := r.from.Unpack(src, rw.Type)
	if err != nil {
		return nil, err
	}
	dst := make([]byte, rw.Size)
	return dst, r.o.Packing.Pack(dst, m)
}

// table implements maker.
func (r *repacker) table(context.Context) (float32, error) { return r.old.Rows[0].Factor, nil }

// rows implements maker: it reads the blocks that the rows are in.
func (r *repacker) rows(ctx context.Context, t task) ([]byte, error) {
	region := r.old.Rows[0]
	from, to := int64(t.index)*region.RowStride, int64(t.index+t.rows)*region.RowStride
	first := int(from / layout.BlockSize)
	var covering []byte
	for i := first; int64(i)*layout.BlockSize < to; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		offset, length := region.Block(i)
		block := make([]byte, length)
		if _, err := r.dense.ReadAt(block, offset); err != nil {
			return nil, fmt.Errorf("rows %q block %d: %w", region.Name, i, err)
		}
		if got := crc32c.Checksum(block); got != region.Blocks[i] {
			return nil, damaged(fmt.Sprintf("rows %q block %d", region.Name, i), got, region.Blocks[i])
		}
		covering = append(covering, block...)
	}
	covering = covering[from-int64(first)*layout.BlockSize:]
	data := make([]byte, 0, t.bytes)
	for i := range int64(t.rows) {
		data = append(data, covering[i*region.RowStride:][:region.RowBytes]...)
	}
	return data, nil
}

// cost implements maker: a weight as it was, unpacked, and as it will be.
func (r *repacker) cost(t task) int64 {
	if t.rows > 0 {
		return 3*t.bytes + 2*layout.BlockSize
	}
	_, weights, _, err := r.parts(t)
	if err != nil {
		return 0 // as making it will say
	}
	most := int64(0)
	for _, rw := range weights {
		n := 3 * rw.Size
		if rw.Matrix {
			n += heldBytes(rw.Type.DType, int64(rw.Type.Dims[0].N)*int64(rw.Type.Dims[1].N))
		}
		most = max(most, n)
	}
	return most
}

// A summed reads a record from its start to its end, a part at a time, and then
// knows whether it was right.
type summed struct {
	in   *io.SectionReader
	r    layout.Record
	name string
	n    int64
	crc  uint32
}

func newSummed(f *os.File, r layout.Record) *summed {
	return &summed{in: io.NewSectionReader(f, r.Offset, r.Length), r: r, name: fmt.Sprintf("record %s %d.%d", r.Class, r.Layer, r.Index)}
}

// take reads the bytes at offset, which is not before the end of what was taken.
func (s *summed) take(offset, size int64) ([]byte, error) {
	if offset < s.n || size > s.r.Length-offset {
		return nil, fmt.Errorf("%s: %d bytes at %d are not within it", s.name, size, offset)
	}
	data := make([]byte, offset-s.n+size)
	if _, err := io.ReadFull(s.in, data); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	s.crc = crc32c.Update(s.crc, data)
	s.n = offset + size
	return data[int64(len(data))-size:], nil
}

// finish reads the rest.
func (s *summed) finish() error {
	if _, err := s.take(s.r.Length, 0); err != nil {
		return err
	}
	if s.crc != s.r.CRC {
		return damaged(s.name, s.crc, s.r.CRC)
	}
	return nil
}

func damaged(thing string, got, want uint32) error {
	return fmt.Errorf("%s is damaged: its checksum is %08x, not %08x; copy or pack the package again", thing, got, want)
}
