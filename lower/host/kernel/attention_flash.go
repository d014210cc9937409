package kernel

import (
	"math"

	"estream/ir"
)

const (
	flashKeys    = 256 // keys that share a maximum and a rescaling: columns of scores
	flashQueries = 512 // queries that share packed keys, at most: rows times heads
	statLanes    = 16  // rows of a tile for which there is a top, a total and a fall
	ahead        = 8   // how many queries before its use a row of q or dst is touched
)

// A flash is attention of the heads of one group for rows of one sequence. Its
// queries are those rows' heads, row by row, in tiles of a few; for each block
// of keys, packed once, each tile makes scores, weights and a weighted sum.
//
// A query's block starts where the sequence's does, so what it does not see adds
// exact zeros to sums that are otherwise the same, whatever else is in its tile.
type flash struct {
	*Attention
	set   *fmaSet
	seq   Sequence
	row   int // the first row of the sequence
	head  int // the first head
	heads int
	group int

	pairs    bool // of bfloat16 are multiplied
	perWord  int  // numbers in a word: 2 of pairs, else 1
	queries  int
	tiles    int
	keyWords int // of a query or key
	keySteps int // rows of a panel of keys
	columns  int // of sums: Dv in whole panels
	mem      flashMemory

	block int // the position where the block of keys starts
	bad   bool
	nan   [flashKeys]bool // keys of the block whose values are not all finite
}

// newFlash is for rows from..to-1 and heads h0..h1-1.
func newFlash(set *fmaSet, a *Attention, seq Sequence, from, to, h0, h1 int, space []float32) flash {
	f := flash{Attention: a, set: set, seq: seq, row: from, head: h0, heads: h1 - h0, group: h0 / (a.Heads / a.Groups)}
	f.queries = (to - from) * f.heads
	f.tiles = (f.queries + set.rows - 1) / set.rows
	f.perWord = 1
	if f.pairs = set.pairs && a.DType == ir.BF16; f.pairs {
		f.perWord = 2
	}
	f.keyWords = (a.D + f.perWord - 1) / f.perWord
	f.keySteps = roundUp(f.keyWords, set.lanes)
	f.columns = roundUp(a.Dv, PanelColumns)
	f.mem.lay(&f, space)
	return f
}

func (f *flash) attend(dst, q []float32) {
	f.begin(q)
	first, _ := f.sees(0)
	_, end := f.sees(f.queries - 1)
	for f.block = first / flashKeys * flashKeys; f.block < end; f.block += flashKeys {
		f.pack(max(first, f.block)/PanelColumns*PanelColumns, min(end, f.block+flashKeys))
		for t := range f.tiles {
			f.tile(t)
		}
	}
	f.finish(dst)
}

// sees returns the positions first..end-1 that a query sees.
func (f *flash) sees(query int) (first, end int) {
	pos := f.seq.Pos + f.row + query/f.heads
	if f.Window > 0 {
		first = max(0, pos+1-f.Window)
	}
	return first, pos + 1
}

// at returns where a query is in [T,Heads].
func (f *flash) at(query int) int {
	return (f.seq.First+f.row+query/f.heads)*f.Heads + f.head + query%f.heads
}

// begin scales the queries, so that scores are logarithms to base 2.
func (f *flash) begin(q []float32) {
	m := &f.mem
	if f.D%f.perWord != 0 {
		clear(m.q)
	}
	for i := range f.queries {
		at, next := f.at(i), f.at(min(i+ahead, f.queries-1))
		f.set.scale(m.q[i*f.keyWords:], q[at*f.D:(at+1)*f.D], f.Scale*math.Log2E, f.pairs, &q[next*f.D])
	}
	clear(m.sums)
	for i := range f.tiles {
		s := m.stats(i)
		for j := range statLanes {
			s[j], s[statLanes+j], s[2*statLanes+j] = -math.MaxFloat32, 0, 0
		}
	}
}

// finish divides the sums by the totals.
func (f *flash) finish(dst []float32) {
	for t := range f.tiles {
		from, to := f.tileRange(t)
		total := f.mem.stats(t)[statLanes:]
		for i := from; i < to; i++ {
			at, next := f.at(i), f.at(min(i+ahead, f.queries-1))
			f.set.scale(dst[at*f.Dv:(at+1)*f.Dv], f.mem.sums[i*f.columns:][:f.Dv], 1/total[i-from], false, &dst[next*f.Dv])
		}
	}
}

// tileRange returns the queries of tile t: they are shared out evenly.
func (f *flash) tileRange(t int) (from, to int) {
	return f.queries * t / f.tiles, f.queries * (t + 1) / f.tiles
}

// tile takes the block's keys into account for the queries of tile t: those in
// columns c0..c1-1, whole panels.
func (f *flash) tile(t int) {
	from, to := f.tileRange(t)
	first, _ := f.sees(from)
	_, end := f.sees(to - 1)
	seen := min(end-f.block, flashKeys)
	c0, c1 := max(first-f.block, 0)/PanelColumns*PanelColumns, roundUp(seen, PanelColumns)
	if c0 >= c1 {
		return
	}
	m, stats, panel := &f.mem, f.mem.stats(t), f.keySteps*PanelColumns
	f.set.gemm(&gemm{
		form: f.form(), rows: to - from, k: f.keyWords, panels: (c1 - c0) / PanelColumns,
		a: m.q[from*f.keyWords:], aStride: f.keyWords,
		b: m.keys[c0/PanelColumns*panel:], bStride: panel,
		c: m.scores[c0:], cStride: flashKeys,
	})
	f.mask(from, to, c0, c1)
	w := weigh{scores: m.scores[c0:], weights: m.weights[c0/f.perWord:], rows: to - from, columns: c1 - c0, pairs: f.pairs,
		top: stats[:statLanes], total: stats[statLanes:], fall: stats[2*statLanes:]}
	f.set.weigh(&w)
	f.set.gemm(&gemm{
		form: f.form(), rows: to - from, k: (seen - c0 + f.perWord - 1) / f.perWord, panels: f.columns / PanelColumns,
		a: w.weights, aStride: flashKeys / f.perWord,
		b: m.values[c0/f.perWord*PanelColumns:], bStride: flashKeys / f.perWord * PanelColumns,
		c: m.sums[from*f.columns:], cStride: f.columns, fall: w.fall,
	})
}

func (f *flash) form() int {
	if f.pairs {
		return formPairs
	}
	return formF32
}

// mask hides columns c0..c1-1 of the scores that queries do not see, and makes
// those NaN that stand for values that are not finite.
func (f *flash) mask(from, to, c0, c1 int) {
	_, all := f.sees(from)
	none, _ := f.sees(to - 1)
	if all >= f.block+c1 && none <= f.block+c0 && !f.bad {
		return
	}
	for i := from; i < to; i++ {
		row := f.mem.scores[(i-from)*flashKeys:][:c1]
		first, end := f.sees(i)
		for c := c0; f.bad && c < c1; c++ {
			if f.nan[c] {
				row[c] = float32(math.NaN())
			}
		}
		for c := c0; c < min(first-f.block, c1); c++ {
			row[c] = float32(math.Inf(-1))
		}
		for c := max(end-f.block, c0); c < c1; c++ {
			row[c] = float32(math.Inf(-1))
		}
	}
}

// A weigh is the rows of scores of a tile, the argument of a weigh function. Of
// each row's columns it raises top to the maximum, sets fall to how much smaller
// that makes what was summed before, multiplies total by it, and sets weights to
// 2^(score-top), which it adds to total.
type weigh struct {
	scores, weights  []float32 // rows flashKeys apart; weights are the same memory, or pairs
	rows, columns    int       // columns are a multiple of 32
	pairs            bool      // weights are rounded to bfloat16, then added to total
	top, total, fall []float32 // [statLanes]
}

// flashMemory is the working memory of a flash.
type flashMemory struct {
	q       []float32 // [queries][keyWords]
	sums    []float32 // [queries][columns]
	stat    []float32 // [tiles][3][statLanes]: top, total, fall
	scores  []float32 // [tile's rows][flashKeys]
	weights []float32 // [tile's rows][flashKeys/perWord]: but for pairs, the same memory
	keys    []float32 // panels [keySteps][32]
	values  []float32 // panels [flashKeys/perWord][32]
}

func (m *flashMemory) stats(tile int) []float32 {
	return m.stat[tile*3*statLanes:][:3*statLanes]
}

// lay parts space and returns how many words that takes; space may be nil to ask.
func (m *flashMemory) lay(f *flash, space []float32) int {
	n := 0
	part := func(dst *[]float32, words int) {
		if space != nil {
			*dst = space[n:][:words:words]
		}
		n += roundUp(words, 16)
	}
	part(&m.q, f.queries*f.keyWords)
	part(&m.sums, f.queries*f.columns)
	part(&m.stat, f.tiles*3*statLanes)
	part(&m.scores, f.set.rows*flashKeys)
	if m.weights = m.scores; f.pairs {
		part(&m.weights, f.set.rows*flashKeys/f.perWord)
	}
	part(&m.keys, flashKeys*f.keySteps)
	part(&m.values, flashKeys/f.perWord*f.columns)
	return n
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
