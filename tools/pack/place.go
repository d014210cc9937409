package pack

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
)

// place gives every record and the embedding table their places, and makes
// their tasks. Runs of the head have that many columns, the last what is left.
func (j *job) place(columns int) error {
	if err := j.placeExperts(); err != nil {
		return err
	}
	return j.placeDense(columns)
}

func (j *job) placeExperts() error {
	var sizes []int64
	for l, class := range j.module.Layers {
		callee, n, err := passes.Routed(j.module, class)
		if err != nil {
			return err
		}
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
func (j *job) placeDense(columns int) error {
	last := len(j.module.Layers)
	for l, class := range j.module.Layers {
		j.dense(layout.Record{Layer: l, Class: class, Length: j.records[class].Len}, task{})
	}
	j.dense(layout.Record{Layer: last, Class: passes.HeadNorm, Length: j.records[passes.HeadNorm].Len}, task{})
	runs, err := j.headRuns(columns)
	if err != nil {
		return err
	}
	for i, r := range runs {
		j.dense(layout.Record{Layer: last, Index: i + 1, Class: passes.HeadProj, Length: r.bytes}, r)
	}
	region, err := j.placeTable()
	if err != nil {
		return err
	}
	var sizes []int64
	for _, r := range j.man.Dense {
		sizes = append(sizes, r.Length)
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
	j.layout.Dense, j.layout.Rows = total, j.man.Rows
	return nil
}

// dense adds a record of dense.bin and the task t that makes it.
func (j *job) dense(r layout.Record, t task) {
	t.dense, t.index, t.bytes = true, len(j.man.Dense), r.Length
	j.man.Dense = append(j.man.Dense, r)
	j.tasks = append(j.tasks, t)
}

// headRuns cuts the head's matrix into runs.
func (j *job) headRuns(columns int) ([]task, error) {
	var runs []task
	for from := 0; from < j.vocabSize; from += columns {
		to := min(from+columns, j.vocabSize)
		r, err := j.bound(from, to)
		if err != nil {
			return nil, err
		}
		runs = append(runs, task{bytes: r.Len, columns: [2]int{from, to}})
	}
	return runs, nil
}

// bound is the record of a run of the head.
func (j *job) bound(from, to int) (passes.Record, error) {
	return j.records[passes.HeadProj].Bind(j.o.Packing, lower.Dims{"P": to - from})
}

// tableBlock is about how many bytes of embedding rows are made at a time.
const tableBlock = 4 << 20

// placeTable plans the embedding region and its tasks.
func (j *job) placeTable() (layout.Region, error) {
	w := j.embed()
	n, err := lower.PlainSize(tableRows(w, 1))
	if err != nil {
		return layout.Region{}, fmt.Errorf("embeddings: %w", err)
	}
	step := max(1, int(tableBlock/n))
	for row := 0; row < j.vocabSize; row += step {
		rows := min(step, j.vocabSize-row)
		j.tasks = append(j.tasks, task{dense: true, index: row, rows: rows, bytes: int64(rows) * n})
	}
	return layout.Region{Name: w.Name, Rows: int64(j.vocabSize), RowStride: n, RowBytes: n, Factor: 1}, nil
}

// embed is the embedding table, of no certain number of rows.
func (j *job) embed() *ir.Value { return j.module.Graph(passes.EmbedGraph).Weights()[0] }

// tableRows is the type of some of its rows.
func tableRows(table *ir.Value, rows int) ir.Type {
	return ir.Tensor(table.Type.DType, ir.N(rows), table.Type.Last())
}
