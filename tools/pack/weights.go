package pack

import (
	"context"
	"fmt"
	"io"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/models"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/passes"
)

// A packer makes records from a checkpoint.
type packer struct {
	*job
	model *models.Model
	ckpt  checkpoint.Checkpoint

	stacked map[string]int64 // see findStacked
	joined  map[string]bool  // types of matrices that are made by blocks; see findJoined

	values buffers[float32] // of matrices that are encoded
	codes  buffers[int8]
	packed buffers[byte]
}

// A spot is where in a model a weight, or some of its rows, is.
type spot struct{ layer, expert, row int }

// parts returns the weights that t's record consists of, and where they are.
func (j *job) parts(t task) (r *layout.Record, weights []passes.RecordWeight, at spot, err error) {
	if t.columns[1] > 0 {
		bound, err := j.bound(t.columns[0], t.columns[1])
		return &j.man.Dense[t.index], bound.Weights, spot{row: t.columns[0]}, err
	}
	if t.dense {
		r = &j.man.Dense[t.index]
		return r, j.records[r.Class].Weights, spot{layer: r.Layer}, nil
	}
	r = &j.man.Experts[t.index]
	return r, j.records[r.Class].Weights, spot{layer: r.Layer, expert: r.Index}, nil
}

// record makes a record a weight at a time.
func (p *packer) record(ctx context.Context, t task, out io.Writer) (factors []float32, err error) {
	r, weights, at, err := p.parts(t)
	if err != nil {
		return nil, err
	}
	w := &padded{w: out}
	for _, rw := range weights {
		factor, err := p.weight(ctx, w, rw, at)
		if err != nil {
			return nil, err
		}
		factors = append(factors, factor)
	}
	return factors, w.put(r.Length, nil)
}

// weight writes one weight, or rows of one, as it is packed.
func (p *packer) weight(ctx context.Context, w *padded, rw passes.RecordWeight, at spot) (factor float32, err error) {
	if p.byBlocks(rw) {
		return 1, p.blocks(ctx, w, rw, at)
	}
	collect(p.weightCost(rw))
	dst := p.packed.take(int(rw.Size))[:rw.Size]
	defer p.packed.put(dst)
	clear(dst)
	switch {
	case p.o.Fill != nil:
		factor, err = p.o.Fill(dst, rw, at.layer, at.expert+at.row)
	case !rw.Matrix:
		factor, err = p.plain(ctx, dst, rw, at)
	default:
		factor, err = p.matrix(ctx, dst, rw, at)
	}
	if err != nil {
		return 0, err
	}
	return factor, w.put(rw.Offset, dst)
}

func (p *packer) matrix(ctx context.Context, dst []byte, rw passes.RecordWeight, at spot) (float32, error) {
	if p.coded(rw, at) {
		m, err := p.takeCodes(ctx, rw, at)
		if err != nil {
			return 0, err
		}
		return m.Factor, p.o.Packing.Pack(dst, m)
	}
	var room []int8
	if rw.Type.DType.Encoded() {
		room = p.codes.take((p.rowsAtOnce(rw) + 1) * rw.Type.Dims[1].N)
		defer p.codes.put(room)
	}
	m, err := p.encode(ctx, rw, at, room)
	if err != nil {
		return 0, err
	}
	return m.Factor, p.o.Packing.Pack(dst, m)
}

// blocks writes a large matrix of a plain type a block of rows at a time.
func (p *packer) blocks(ctx context.Context, w *padded, rw passes.RecordWeight, at spot) error {
	n, k := rw.Type.Dims[0].N, rw.Type.Dims[1].N
	block, offset := rw, rw.Offset
	for row := 0; row < n; row += p.blockRows(k) {
		var err error
		block.Type = ir.Tensor(rw.Type.DType, ir.N(min(p.blockRows(k), n-row)), ir.N(k))
		if block.Size, err = p.o.Packing.Size(block.Type); err != nil {
			return err
		}
		dst := make([]byte, block.Size)
		if _, err := p.matrix(ctx, dst, block, spot{at.layer, at.expert, at.row + row}); err != nil {
			return fmt.Errorf("rows from %d: %w", at.row+row, err)
		}
		if err := w.put(offset, dst); err != nil {
			return err
		}
		offset += block.Size
	}
	return nil
}

// plain writes a vector or a small tensor that no matmul reads: a vector is a row,
// anything else has rows of all but its first dimension.
func (p *packer) plain(ctx context.Context, dst []byte, rw passes.RecordWeight, at spot) (factor float32, err error) {
	first, k := rw.Type.Dims[0].N, 1
	for _, d := range rw.Type.Dims[1:] {
		k *= d.N
	}
	w := make([]float32, first*k)
	if err := p.model.Read(ctx, rw.Name, at.layer, at.expert, at.row, first, w); err != nil {
		return 0, err
	}
	n := first
	if len(rw.Type.Dims) == 1 {
		n, k = 1, first
	}
	m, err := quant.Encode(rw.Type.DType, n, k, w)
	if err != nil {
		return 0, fmt.Errorf("weight %s of layer %d: %w", rw.Name, at.layer, err)
	}
	return m.Factor, lower.PackPlain(dst, m)
}

// rows makes a block of embedding rows.
func (p *packer) rows(ctx context.Context, t task) ([]byte, error) {
	data := make([]byte, t.bytes)
	rw := passes.RecordWeight{Name: p.embed().Name, Type: tableRows(p.embed(), t.rows), Size: t.bytes}
	if p.o.Fill != nil {
		_, err := p.o.Fill(data, rw, 0, t.index)
		return data, err
	}
	k := rw.Type.Last().N
	values := p.values.take(t.rows * k)[:t.rows*k]
	defer p.values.put(values)
	if err := p.model.Read(ctx, rw.Name, 0, 0, t.index, t.rows, values); err != nil {
		return nil, err
	}
	m, err := quant.EncodeTable(rw.Type.DType, t.rows, k, values, p.man.Rows[0].Factor)
	if err != nil {
		return nil, fmt.Errorf("embeddings from row %d: %w", t.index, err)
	}
	return data, lower.PackPlain(data, m)
}

// table is the power of two of an encoded embedding table, which needs
// its largest magnitude: one more look at the whole table.
func (p *packer) table(ctx context.Context) (float32, error) {
	table, vocab := p.embed(), p.vocabSize
	if !table.Type.DType.Encoded() {
		return 1, nil
	}
	if p.o.Fill != nil {
		n := p.man.Rows[0].RowBytes
		return p.o.Fill(make([]byte, n), passes.RecordWeight{Name: table.Name, Type: tableRows(table, 1), Size: n}, 0, 0)
	}
	k, largest := table.Type.Last().N, float32(0)
	rows := min(vocab, max(1, tableBlock/(4*k)))
	buf := make([]float32, rows*k)
	for row := 0; row < vocab; row += rows {
		n := min(rows, vocab-row)
		if err := p.model.Read(ctx, table.Name, 0, 0, row, n, buf[:n*k]); err != nil {
			return 0, err
		}
		largest = max(largest, quant.Largest(buf[:n*k]))
	}
	return quant.TableFactor(largest), nil
}

// padded writes things at ascending offsets, with zeros between.
type padded struct {
	w io.Writer
	n int64
}

// put writes data at offset, which is not before the end of what was put.
func (p *padded) put(offset int64, data []byte) error {
	for _, b := range [][]byte{make([]byte, offset-p.n), data} {
		if len(b) == 0 {
			continue
		}
		if _, err := p.w.Write(b); err != nil {
			return err
		}
	}
	p.n = offset + int64(len(data))
	return nil
}
