package pack

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// headRun is about how many bytes a run of the head's panels has at most.
const headRun = 1 << 20

// A task is one record or block of rows to make.
type task struct {
	dense   bool
	index   int // in the manifest's Dense or Experts; the first row of a block of rows
	rows    int // of the embedding table; 0: a record
	bytes   int64
	columns [2]int // of a run of the head: from, to
}

// plan lowers the model and places every record.
func (j *job) plan(ctx context.Context) error {
	if note, err := j.model.CompareHead(ctx); err != nil {
		return err
	} else if note != "" {
		j.report.Notes = append(j.report.Notes, note)
	}
	if err := j.lower(); err != nil {
		return err
	}
	j.man = layout.Manifest{
		Align:    cmp.Or(j.o.Align, layout.DefaultAlign),
		Family:   j.model.Family.Name,
		Packing:  j.o.Packing.Name,
		Backends: []string{j.o.Backend},
		Ops:      j.module.Ops(),
		Module:   j.module.String(),
		Policy:   j.report.Policy,

		Provenance: slices.Clone(j.o.Provenance),
	}
	for _, n := range j.report.Notes {
		j.man.Provenance = append(j.man.Provenance, layout.KeyValue{Key: "note", Value: n})
	}
	if err := j.placeExperts(); err != nil {
		return err
	}
	return j.placeDense()
}

// lower builds the module and runs the passes of packing.
func (j *job) lower() (err error) {
	if j.module, err = j.model.Module(); err != nil {
		return err
	}
	e := j.o.Encoding
	policy := passes.Policy{
		Experts: e.Experts, Attention: e.Attention, Head: e.Head, Embed: e.Embed,
		Exact: func(_, weight string) ir.DType { return j.model.DType(weight) },
	}
	var r passes.Report
	if err := passes.Run(j.module, passes.Pack(policy, j.o.Packing, &r), nil); err != nil {
		return err
	}
	j.report.Policy = summary(e, r)
	j.records, err = passes.Records(j.module, j.o.Packing)
	return err
}

func (j *job) placeExperts() error {
	var sizes []int64
	for l, class := range j.module.Layers {
		callee, n := passes.Routed(j.module, class)
		for e := range n {
			j.man.Experts = append(j.man.Experts, layout.Record{Layer: l, Index: e, Class: callee, Length: j.records[callee].Len})
			sizes = append(sizes, j.records[callee].Len)
		}
	}
	offsets, total, err := layout.Place(j.man.Align, sizes...)
	if err != nil {
		return err
	}
	for i := range j.man.Experts {
		j.man.Experts[i].Offset = offsets[i]
		j.tasks = append(j.tasks, task{index: i, bytes: sizes[i]})
	}
	j.layout = layout.Plan{Align: j.man.Align, Experts: total}
	return nil
}

// placeDense places the layers' dense records, the head's norm and runs, and the
// embedding table.
func (j *job) placeDense() error {
	var sizes []int64
	largest := int64(64 << 10)
	for l, class := range j.module.Layers {
		n := j.records[class].Len
		j.man.Dense = append(j.man.Dense, layout.Record{Layer: l, Class: class, Length: n})
		sizes, largest = append(sizes, n), max(largest, n)
	}
	last := len(j.module.Layers)
	j.man.Dense = append(j.man.Dense, layout.Record{Layer: last, Class: "head.norm", Length: j.records["head.norm"].Len})
	sizes = append(sizes, j.records["head.norm"].Len)
	for i := range j.man.Dense {
		j.tasks = append(j.tasks, task{dense: true, index: i, bytes: sizes[i]})
	}
	runs, err := j.headRuns(min(headRun, largest))
	if err != nil {
		return err
	}
	for i, r := range runs {
		j.man.Dense = append(j.man.Dense, layout.Record{Layer: last, Index: i + 1, Class: "head.proj", Length: r.bytes})
		r.dense, r.index = true, len(j.man.Dense)-1
		j.tasks, sizes = append(j.tasks, r), append(sizes, r.bytes)
	}
	region, err := j.table()
	if err != nil {
		return err
	}
	offsets, total, err := layout.Place(j.man.Align, append(slices.Clone(sizes), region.Size())...)
	if err != nil {
		return err
	}
	for i := range j.man.Dense {
		j.man.Dense[i].Offset = offsets[i]
	}
	region.Offset = offsets[len(sizes)]
	j.man.Rows = []layout.Region{region}
	j.layout.Dense, j.layout.Rows, j.layout.Companions = total, j.man.Rows, 64<<20
	return nil
}

// headRuns cuts the head's matrix into runs of whole panels of at most about
// most bytes.
func (j *job) headRuns(most int64) ([]task, error) {
	size := func(columns int) (int64, error) {
		r, err := j.records["head.proj"].Bind(j.o.Packing, lower.Dims{"P": columns})
		return r.Len, err
	}
	v := j.model.Config.VocabSize
	whole, err := size(v)
	if err != nil {
		return nil, err
	}
	columns := layout.RunColumns(v, int((whole+most-1)/most), runtime.HeadPanel)
	var runs []task
	for from := 0; from < v; from += columns {
		to := min(from+columns, v)
		n, err := size(to - from)
		if err != nil {
			return nil, err
		}
		runs = append(runs, task{bytes: n, columns: [2]int{from, to}})
	}
	return runs, nil
}

// tableBlock is how many bytes of embedding rows are made at a time.
const tableBlock = 4 << 20

// table plans the embedding region and its tasks.
func (j *job) table() (layout.Region, error) {
	w := j.module.Graph("embed").Weights()[0].Type
	k, v := w.Last().N, j.model.Config.VocabSize
	n, err := lower.PlainSize(ir.Tensor(w.DType, ir.N(1), ir.N(k)))
	if err != nil {
		return layout.Region{}, fmt.Errorf("embeddings: %w", err)
	}
	step := max(1, int(tableBlock/n))
	for row := 0; row < v; row += step {
		rows := min(step, v-row)
		j.tasks = append(j.tasks, task{dense: true, index: row, rows: rows, bytes: int64(rows) * n})
	}
	return layout.Region{Name: "embed.weight", Rows: int64(v), RowStride: n, RowBytes: n, Factor: 1}, nil
}
