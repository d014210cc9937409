package kernel

// An A8 is rows that QuantizeA8 has quantized: a8, or a8g128 where Blocks is set.
type A8 struct {
	Data   []byte
	Rows   int
	Blocks bool
	Sums   []int32 // by SumA8, of just these rows and for such a matrix; nil: each product sums for itself
}

// MulA8 multiplies rows of x by panels from..to-1 of w, an encoded matrix: for
// each row r and each column n of those panels it sets dst[r*stride+n].
//
// Segments of K are the smaller of w's group and of x's block. A segment's sum
// of products is exact in int32. In ascending order, in f32,
// acc += float32(sum)*scale(w), in blocks times the block's scale before it is
// added; then acc is multiplied by the row's scale (without blocks), then by Factor.
func (s *Set) MulA8(w *Matrix, dst []float32, stride int, x A8, from, to int) {
	t := newTile(w, x.Blocks)
	t.rows, t.x, t.dst, t.dstStride = x.Rows, x.Data, dst, 4*stride
	var scratch [128]int32
	t.scratch = scratch[:]
	switch n := sumCount(t.segments, x.Rows); {
	case x.Sums != nil:
		t.corr, t.corrStride = x.Sums[:n], 4*n/t.segments
		s.mulRun(t, w, from, to)
	case n <= corrFew:
		var corr [corrFew]int32
		s.mulRuns(&t, corr[:], w, from, to)
	default:
		var corr [corrMost]int32
		s.mulRuns(&t, corr[:], w, from, to)
	}
}

// SumCount returns how many sums SumA8 makes of rows for w.
func SumCount(w *Matrix, blocks bool, rows int) int {
	return sumCount(newTile(w, blocks).segments, rows)
}

func sumCount(segments, rows int) int { return (rows + sumRows - 1) / sumRows * sumRows * segments }

// SumA8 sets sums to what MulA8 needs of x for matrices of w's encoding and K.
func (s *Set) SumA8(sums []int32, w *Matrix, x A8) {
	t := newTile(w, x.Blocks)
	n := sumCount(t.segments, x.Rows)
	t.rows, t.x, t.corr, t.corrStride = x.Rows, x.Data, sums[:n], 4*n/t.segments
	s.sumRun(t)
}

// Sizes of corr, which is cleared at each call: what few rows need, and sumRows
// of the longest ones.
const (
	corrFew  = 1024
	corrMost = sumRows * maxK / 32
)

// mulRuns multiplies all rows, as many at a time as corr has room for.
func (s *Set) mulRuns(all *tile, corr []int32, w *Matrix, from, to int) {
	most := max(len(corr)/all.segments/sumRows, 1) * sumRows
	for r := 0; r < all.rows; r += most {
		run := *all
		run.rows = min(most, all.rows-r)
		run.x = all.x[r*run.stride:][:run.rows*run.stride]
		n := sumCount(run.segments, run.rows)
		run.corr, run.corrStride = corr[:n], 4*n/run.segments
		run.dst = all.dst[r*run.dstStride/4:]
		s.sumRun(run)
		s.mulRun(run, w, from, to)
	}
}

// sumRun sets corr of all rows of run.
func (s *Set) sumRun(run tile) {
	t := run
	for r := 0; r < run.rows; r += sumRows {
		t.rows = min(sumRows, run.rows-r)
		t.x, t.corr = run.x[r*t.stride:], run.corr[r:]
		s.sums(&t)
	}
}

// mulRun multiplies all rows of run panel by panel, in tiles that are even to a row.
func (s *Set) mulRun(run tile, w *Matrix, from, to int) {
	t, most := run, s.rowsMost()
	tiles := (run.rows + most - 1) / most
	for p := from; p < to; p++ {
		t.codes, t.scales = w.Panel(p), w.panelScales(p)
		next := w.Next
		if p < to-1 {
			next = w.Panel(p + 1)
		}
		for i := range tiles {
			r, end := i*run.rows/tiles, (i+1)*run.rows/tiles
			t.rows = end - r
			t.lookAhead(i, tiles, next)
			t.x, t.corr = run.x[r*t.stride:end*t.stride], run.corr[r:]
			t.dst = run.dst[r*t.dstStride/4+p*PanelColumns:]
			s.mulColumns(&t, w.columns(p))
		}
	}
}

// mulColumns is mul for a panel that has cols columns.
func (s *Set) mulColumns(t *tile, cols int) {
	t.dst = t.dst[:(t.rows-1)*t.dstStride/4+cols]
	if cols == PanelColumns {
		s.mul(t)
		return
	}
	var all [tileRowsMax * PanelColumns]float32
	padded := *t
	padded.dst, padded.dstStride = all[:], 4*PanelColumns
	s.mul(&padded)
	for r := range t.rows {
		copy(t.dst[r*t.dstStride/4:][:cols], all[r*PanelColumns:])
	}
}

// panelScales returns the f16 scales of panel p, [groups][32].
func (w *Matrix) panelScales(p int) []byte {
	size := groups(w.DType, w.K) * scaleBytes
	return w.Data[w.Panels()*panelBytes(w.DType, w.K)+p*size:][:size]
}
