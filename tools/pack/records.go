package pack

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
)

// run makes every record and block of rows, several at a time.
func (j *job) run(ctx context.Context, w *layout.Writer) error {
	factor, err := j.tableFactor(ctx)
	if err != nil {
		return err
	}
	j.man.Rows[0].Factor = factor
	total := int64(0)
	for _, t := range j.tasks {
		total += t.bytes
	}
	var mu sync.Mutex
	done := int64(0)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers())
	for _, t := range j.tasks {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := j.make(ctx, w, t); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if done += t.bytes; j.o.Progress != nil {
				j.o.Progress(done, total)
			}
			return nil
		})
	}
	return g.Wait()
}

func (j *job) make(ctx context.Context, w *layout.Writer, t task) error {
	switch {
	case t.rows > 0:
		return j.makeRows(ctx, w, t)
	case t.columns[1] > 0:
		return j.makeRun(ctx, w, t)
	}
	r, expert := record(&j.man, t)
	payload := make([]byte, r.Length)
	for _, rw := range j.records[r.Class].Weights {
		factor, err := j.place(ctx, payload[rw.Offset:rw.Offset+rw.Size], rw, r.Layer, expert)
		if err != nil {
			return err
		}
		r.Factors = append(r.Factors, factor)
	}
	if t.dense {
		return w.Dense(*r, payload)
	}
	return w.Expert(*r, payload)
}

// record returns the record that a task makes, and its expert, 0 for a dense one.
func record(m *layout.Manifest, t task) (*layout.Record, int) {
	if t.dense {
		return &m.Dense[t.index], 0
	}
	return &m.Experts[t.index], m.Experts[t.index].Index
}

// place encodes one weight and arranges it in its part of a record.
func (j *job) place(ctx context.Context, dst []byte, rw passes.RecordWeight, layer, expert int) (float32, error) {
	if j.o.Fill != nil {
		return j.o.Fill(dst, rw, layer, expert)
	}
	if !rw.Matrix {
		return 1, j.placePlain(ctx, dst, rw, layer, expert)
	}
	m, err := j.encode(ctx, rw.Name, layer, expert, rw.Type.DType, 0, rw.Type.Dims[0].N, rw.Type.Dims[1].N)
	if err != nil {
		return 0, err
	}
	return m.Factor, j.o.Packing.Pack(dst, m)
}

// placePlain writes a vector or a small tensor that no matmul reads.
func (j *job) placePlain(ctx context.Context, dst []byte, rw passes.RecordWeight, layer, expert int) error {
	elems := 1
	for _, d := range rw.Type.Dims {
		elems *= d.N
	}
	w := make([]float32, elems)
	if err := j.model.Read(ctx, rw.Name, layer, expert, 0, rw.Type.Dims[0].N, w); err != nil {
		return err
	}
	m, err := quant.Encode(rw.Type.DType, 1, elems, w)
	if err != nil {
		return fmt.Errorf("weight %s of layer %d: %w", rw.Name, layer, err)
	}
	return lower.PackPlain(dst, m)
}

// makeRun makes one run of the head's panels.
func (j *job) makeRun(ctx context.Context, w *layout.Writer, t task) error {
	r := &j.man.Dense[t.index]
	head := j.module.Graph("head.proj").Weights()[0]
	payload, rows := make([]byte, r.Length), t.columns[1]-t.columns[0]
	factor, err := j.placeRun(ctx, payload, head, t.columns[0], rows)
	if err != nil {
		return err
	}
	r.Factors = []float32{factor}
	return w.Dense(*r, payload)
}

func (j *job) placeRun(ctx context.Context, dst []byte, head *ir.Value, row, rows int) (float32, error) {
	if j.o.Fill != nil {
		return j.filled(dst, head, true, row, rows)
	}
	m, err := j.encode(ctx, head.Name, 0, 0, head.Type.DType, row, rows, head.Type.Last().N)
	if err != nil {
		return 0, err
	}
	return m.Factor, j.o.Packing.Pack(dst, m)
}

// filled is Fill for rows of the head or the table.
func (j *job) filled(dst []byte, w *ir.Value, matrix bool, row, rows int) (float32, error) {
	t := ir.Tensor(w.Type.DType, ir.N(rows), w.Type.Last())
	return j.o.Fill(dst, passes.RecordWeight{Name: w.Name, Type: t, Matrix: matrix, Size: int64(len(dst))}, 0, row)
}

// makeRows makes a block of embedding rows.
func (j *job) makeRows(ctx context.Context, w *layout.Writer, t task) error {
	table := j.module.Graph("embed").Weights()[0]
	k := table.Type.Last().N
	if j.o.Fill != nil {
		data := make([]byte, t.bytes)
		if _, err := j.filled(data, table, false, t.index, t.rows); err != nil {
			return err
		}
		return w.Rows(j.man.Rows[0].Name, int64(t.index), data)
	}
	values := make([]float32, t.rows*k)
	if err := j.model.Read(ctx, table.Name, 0, 0, t.index, t.rows, values); err != nil {
		return err
	}
	m, err := quant.EncodeTable(table.Type.DType, t.rows, k, values, j.man.Rows[0].Factor)
	if err != nil {
		return fmt.Errorf("embeddings from row %d: %w", t.index, err)
	}
	data := make([]byte, t.bytes)
	if err := lower.PackPlain(data, m); err != nil {
		return err
	}
	return w.Rows(j.man.Rows[0].Name, int64(t.index), data)
}

// tableFactor is the power of two of an encoded embedding table, which needs
// its largest magnitude: one more look at the whole table.
func (j *job) tableFactor(ctx context.Context) (float32, error) {
	table := j.module.Graph("embed").Weights()[0]
	if !table.Type.DType.Encoded() {
		return 1, nil
	}
	if j.o.Fill != nil {
		return j.filled(make([]byte, j.man.Rows[0].RowBytes), table, false, 0, 1)
	}
	k, largest := table.Type.Last().N, float32(0)
	rows := max(1, tableBlock/(4*k))
	buf := make([]float32, rows*k)
	for row := 0; row < j.model.Config.VocabSize; row += rows {
		n := min(rows, j.model.Config.VocabSize-row)
		if err := j.model.Read(ctx, table.Name, 0, 0, row, n, buf[:n*k]); err != nil {
			return 0, err
		}
		for _, x := range buf[:n*k] {
			largest = max(largest, max(x, -x))
		}
	}
	return quant.TableFactor(largest), nil
}
