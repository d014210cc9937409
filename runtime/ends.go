package runtime

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager"
	"estream/pager/layout"
	"estream/passes"
)

// headRuns says how the head's matrix is cut into records.
type headRuns struct {
	columns int // of a run; the last may have fewer
	runs    []headRun
}

// A headRun is one record of the head's weights.
type headRun struct {
	columns int
	weights []passes.RecordWeight // in the order of the graph's
	factors []float32
}

// bindEnds checks the embedding table and the records of the head.
func (m *Model) bindEnds(records map[string]passes.Record, packing lower.Packing) error {
	if len(m.pkg.Manifest.Rows) != 1 {
		return fmt.Errorf("%d tables of rows, want the embeddings alone", len(m.pkg.Manifest.Rows))
	}
	m.region = m.pkg.Manifest.Rows[0]
	table := m.embed.graph.Weights()
	if len(table) != 1 || table[0].Type.Rank() != 2 {
		return fmt.Errorf("module: embed has no table")
	}
	one := ir.Tensor(table[0].Type.DType, ir.N(1), table[0].Type.Last())
	size, err := lower.PlainSize(one)
	if err != nil || size != int64(m.region.RowBytes) {
		return fmt.Errorf("table %s: rows of %d bytes do not hold %s", m.region.Name, m.region.RowBytes, one)
	}
	m.hidden = table[0].Type.Last().N
	dense, _ := m.records(len(m.layers))
	if len(dense) < 2 {
		return fmt.Errorf("no records of the head")
	}
	if err := checkRecord(dense[0], records[passes.HeadNorm], passes.HeadNorm); err != nil {
		return err
	}
	return m.bindRuns(dense[1:], records[passes.HeadProj], packing)
}

// bindRuns finds how many columns each run of the head's panels holds from the
// runs' lengths: all but the last are equal, and V is the table's rows.
func (m *Model) bindRuns(runs []layout.Record, proj passes.Record, packing lower.Packing) error {
	m.vocab = int(m.region.Rows)
	m.headers.columns = layout.RunColumns(m.vocab, len(runs), HeadPanel)
	for i, r := range runs {
		cols := min(m.headers.columns, m.vocab-i*m.headers.columns)
		if cols <= 0 {
			return fmt.Errorf("head: %d runs for %d columns", len(runs), m.vocab)
		}
		want, err := proj.Bind(packing, lower.Dims{"P": cols})
		if err != nil {
			return err
		}
		if err := checkRecord(r, want, passes.HeadProj); err != nil {
			return err
		}
		m.headers.runs = append(m.headers.runs, m.headRun(cols, want, r.Factors))
	}
	return nil
}

// HeadColumns returns how many columns each of the head's records has, in a package
// of so many layers, each number once: what a target of fixed extents has tiers of P
// for. It is nil where the package has no head that can be run.
func HeadColumns(man *layout.Manifest, layers int) []int {
	runs := -1 // the first record is the norm's
	for _, r := range man.Dense {
		if r.Layer == layers {
			runs++
		}
	}
	if runs < 1 || len(man.Rows) != 1 || man.Rows[0].Rows > maxVocab {
		return nil
	}
	vocab := int(man.Rows[0].Rows)
	each := min(vocab, layout.RunColumns(vocab, runs, HeadPanel))
	last := vocab - (runs-1)*each
	if each < 1 || last < 1 {
		return nil
	}
	return slices.Compact([]int{each, last})
}

// headRun puts a record's weights in the order of the graph's.
func (m *Model) headRun(columns int, rec passes.Record, factors []float32) headRun {
	run := headRun{columns: columns}
	for _, w := range m.proj.graph.Weights() {
		i := slices.IndexFunc(rec.Weights, func(r passes.RecordWeight) bool { return r.Name == w.Name })
		run.weights, run.factors = append(run.weights, rec.Weights[i]), append(run.factors, factors[i])
	}
	return run
}

// bound is the run's weights in a record that lies at off.
func (h headRun) bound(mem lower.Mem, off int64) []lower.Buffer {
	var out []lower.Buffer
	for i, w := range h.weights {
		out = append(out, lower.Buffer{Mem: mem, Off: off + w.Offset, Len: w.Size, Type: w.Type, Factor: h.factors[i]})
	}
	return out
}

// HeadPanel is what the columns of a run of the head are a multiple of, the last
// run's apart: the panels of every packing are this wide or narrower.
const HeadPanel = 32

// buildStages lists the package's records as the pager walks them.
func (m *Model) buildStages() {
	for l := 0; l <= len(m.layers); l++ {
		dense, experts := m.records(l)
		m.stages = append(m.stages, pager.Stage{Dense: pagerRecords(dense), Experts: pagerRecords(experts)})
	}
}

func pagerRecords(rs []layout.Record) []pager.Record {
	var out []pager.Record
	for _, r := range rs {
		out = append(out, pager.Record{Off: r.Offset, Len: r.Length, CRC: r.CRC})
	}
	return out
}
