package kernel

import (
	"math"

	"estream/ir"
	"estream/lower"
)

// keyBlock is how many keys share a maximum and a rescaling in plain Go.
const keyBlock = 64

// An Attention is causal attention over the rows of a growing state.
type Attention struct {
	Heads, Groups int // query heads, and heads of keys and values, which divide them
	D, Dv         int // values of a query or key, and of a value row
	Scale         float32
	Window        int      // a position sees itself and Window-1 before it; 0: all before it
	DType         ir.DType // of keys and values: f32 or bf16
	Keys, Values  []byte   // [S,Groups,D] and [S,Groups,Dv]
}

// A Sequence is one sequence of a step, whose queries already have their rows in
// the state. Position j's key is row Parent+j of the state for j < Prefix, else
// row Base+j-Prefix.
type Sequence struct {
	First  int // its first row in q and dst: seq[b]
	Pos    int // the position of that row: Prefix + past[b]
	Prefix int // positions that stand in the parent's rows; 0 without a parent
	Parent int // the parent's first row in the state
	Base   int // the sequence's first own row in the state
}

// Attend computes heads h0..h1-1 of rows from..to-1 of the sequence: q is [T,Heads,D],
// dst [T,Heads,Dv]. An output row depends on its q and the keys and values at the
// positions it sees; keys that a row does not see are not read as numbers.
//
// Positions are taken in blocks that start at position 0, each with its maximum.
// In plain Go they have 64 keys, in f32, products of q and key in four sums,
// exponentials and their sum in float64. Assembly takes 256, all in f32, powers of
// 2 to 2 units in the last place; and where it multiplies pairs of bfloat16 and so
// are keys and values, it rounds queries, times Scale, and weights to that too.
//
// space is working memory, as much as AttendSpace says.
func (s *Set) Attend(a *Attention, dst, q []float32, seq Sequence, from, to, h0, h1 int, space []float32) {
	share := a.Heads / a.Groups
	for h := h0; h < h1; {
		end := min(h1, (h/share+1)*share)
		if s.fma == nil {
			a.plain(dst, q, &seq, from, to, h, end)
		}
		run := max(flashQueries/(end-h), 1)
		for i := from; i < to && s.fma != nil; i += run {
			f := newFlash(s.fma, a, seq, i, min(i+run, to), h, end, space)
			f.attend(dst, q)
		}
		h = end
	}
}

// AttendSpace returns how many words of working memory Attend takes for a, and
// for how many rows of a sequence, with all heads of a group, it packs keys at once.
func (s *Set) AttendSpace(a *Attention) (words, rows int) {
	share := a.Heads / a.Groups
	rows = max(flashQueries/share, 1)
	if s.fma == nil {
		return 0, rows
	}
	f := newFlash(s.fma, a, Sequence{}, 0, max(flashQueries, share), 0, 1, nil)
	return f.mem.lay(&f, nil), rows
}

func (a *Attention) plain(dst, q []float32, seq *Sequence, from, to, h0, h1 int) {
	for h := h0; h < h1; h++ {
		for i := from; i < to; i++ {
			row := (seq.First+i)*a.Heads + h
			a.query(dst[row*a.Dv:(row+1)*a.Dv], q[row*a.D:(row+1)*a.D], seq, seq.Pos+i, h/(a.Heads/a.Groups))
		}
	}
}

// query attends one q at position pos over the keys of one group.
func (a *Attention) query(out, q []float32, s *Sequence, pos, group int) {
	first := 0
	if a.Window > 0 {
		first = max(0, pos+1-a.Window)
	}
	var weights [keyBlock]float32
	var places [keyBlock]int
	top, total := float32(math.Inf(-1)), 0.0
	clear(out)
	for block := first / keyBlock * keyBlock; block <= pos; block += keyBlock {
		lo, hi := max(first, block), min(pos+1, block+keyBlock)
		w, at := weights[:hi-lo], places[:hi-lo]
		for i := range at {
			at[i] = s.row(lo+i)*a.Groups + group
		}
		next := max(top, a.scores(w, q, at))
		fall := math.Exp(float64(top) - float64(next))
		total = float64(total*fall) + exponentials(w, next)
		a.mix(out, w, float32(fall), at)
		top = next
	}
	for i, v := range out {
		out[i] = float32(float64(v) / total)
	}
}

// row returns the state's row of position j.
func (s *Sequence) row(j int) int {
	if j < s.Prefix {
		return s.Parent + j
	}
	return s.Base + j - s.Prefix
}

// exponentials replaces scores by exp(score-top) and returns their sum.
func exponentials(w []float32, top float32) float64 {
	sum := 0.0
	for i, v := range w {
		w[i] = float32(math.Exp(float64(v) - float64(top)))
		sum += float64(w[i])
	}
	return sum
}

// scores sets w to Scale * q·key for the keys at the places at, counted in heads,
// and returns the largest.
func (a *Attention) scores(w, q []float32, at []int) float32 {
	top := float32(math.Inf(-1))
	if a.DType == ir.F32 {
		keys := lower.F32(a.Keys)
		for i, p := range at {
			w[i] = dotF32(q, keys[p*a.D:(p+1)*a.D]) * a.Scale
			top = max(top, w[i])
		}
		return top
	}
	keys := lower.U16(a.Keys)
	for i, p := range at {
		w[i] = dotBF16(q, keys[p*a.D:(p+1)*a.D]) * a.Scale
		top = max(top, w[i])
	}
	return top
}

// mix sets out to out*fall plus the values at the places at, times w.
func (a *Attention) mix(out, w []float32, fall float32, at []int) {
	if a.DType == ir.F32 {
		mixF32(out, w, fall, lower.F32(a.Values), at)
	} else {
		mixBF16(out, w, fall, lower.U16(a.Values), at)
	}
}
