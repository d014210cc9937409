package ir

import (
	"fmt"
	"slices"
)

// wantStep checks the operands seq [B+1] and the rest [B].
func wantStep(seq Type, rest ...Type) error {
	n := Type{}
	if seq.Rank() == 1 && seq.Dims[0].N > 0 {
		n = Tensor(I32, Dim{Sym: seq.Dims[0].Sym, N: seq.Dims[0].N - 1})
	}
	for _, t := range rest {
		if n.Rank() != 1 || !slices.Equal(t.Dims, n.Dims) {
			return fmt.Errorf("want seq [B+1] with [B], got %s with %s", seq, t)
		}
	}
	if seq.Rank() != 1 {
		return fmt.Errorf("want seq [B+1], got %s", seq)
	}
	return nil
}

func inferAppend(a []Type, attr any) (Type, error) {
	state, rows := a[0], a[4:]
	if state.Kind != Grow || attr.(InplaceAttr).Inplace != 0 {
		return Type{}, fmt.Errorf("want a growing state, written in place, got %s", state)
	}
	if len(rows) != len(state.Parts) {
		return Type{}, fmt.Errorf("%d tensors for the %d parts of %s", len(rows), len(state.Parts), state)
	}
	for i, p := range state.Parts {
		if rows[i].Rank() != p.Rank() || !slices.Equal(rows[i].Dims[1:], p.Dims[1:]) || !rows[i].DType.Float() || rows[i].Dims[0] != rows[0].Dims[0] {
			return Type{}, fmt.Errorf("%s does not fit part %s", rows[i], p)
		}
	}
	return state, wantStep(a[1], a[2], a[3])
}

func inferAttention(a []Type, attr any) (Type, error) {
	q, state, pos := a[0], a[1], a[2]
	if state.Kind != Grow || len(state.Parts) != 2 {
		return Type{}, fmt.Errorf("want a growing state of keys and values, got %s", state)
	}
	if pos.Rank() != 1 || pos.Dims[0] != q.Dims[0] {
		return Type{}, fmt.Errorf("want q [T,H,D] and pos [T], got %s and %s", q, pos)
	}
	if err := wantStep(a[3], a[4], a[5], a[6]); err != nil {
		return Type{}, err
	}
	return attend(q, state.Parts[0], state.Parts[1], attr.(AttentionAttr))
}

func inferMasked(a []Type, attr any) (Type, error) {
	q, k, v, mask := a[0], a[3], a[4], a[5]
	t, err := attend(q, k, v, attr.(AttentionAttr))
	if err != nil {
		return t, err
	}
	past := Type{Dims: []Dim{{}}}
	if a[1].Rank() == 3 {
		past = a[1].WithLast(a[2].Last())
	}
	if a[1].Rank() != 3 || !slices.Equal(past.Dims, a[2].Dims) || !slices.Equal(a[1].Dims[1:], k.Dims[1:]) || !slices.Equal(a[2].Dims[1:], v.Dims[1:]) || k.Dims[0] != q.Dims[0] {
		return t, fmt.Errorf("past %s, %s and new %s, %s do not fit", a[1], a[2], k, v)
	}
	if mask.Rank() != 2 || mask.Dims[0] != q.Dims[0] || !mask.DType.Float() {
		return t, fmt.Errorf("mask %s does not fit %s", mask, q)
	}
	return t, nil
}

// attend checks queries [T,H,D] against keys [S,G,D] and values [S,G,Dv], G dividing H.
func attend(q, k, v Type, attr AttentionAttr) (Type, error) {
	ok := q.Rank() == 3 && k.Rank() == 3 && v.Rank() == 3 && q.DType.Float() && k.DType.Float() && v.DType.Float() &&
		q.Dims[2] == k.Dims[2] && slices.Equal(k.Dims[:2], v.Dims[:2])
	if ok {
		h, g := q.Dims[1], k.Dims[1]
		ok = h.Sym == "" && g.Sym == "" && g.N > 0 && h.N%g.N == 0
	}
	if !ok {
		return Type{}, fmt.Errorf("queries %s do not fit keys %s and values %s", q, k, v)
	}
	if attr.Window < 0 {
		return Type{}, fmt.Errorf("window=%d is negative", attr.Window)
	}
	return q.WithLast(v.Last()).WithDType(F32), nil
}

func inferConv(a []Type, _ any) (Type, error) {
	x, taps, state := a[0], a[1], a[2]
	if x.Rank() != 2 || taps.Rank() != 2 || taps.Dims[0] != x.Dims[1] || !x.DType.Float() || !taps.DType.Float() {
		return Type{}, fmt.Errorf("want x [T,D] and taps [D,K], got %s and %s", x, taps)
	}
	if err := wantWindow(state, x); err != nil {
		return Type{}, err
	}
	if keep := state.Parts[0].Dims[1]; keep.Sym != "" || taps.Dims[1] != N(keep.N+1) {
		return Type{}, fmt.Errorf("taps %s do not fit window %s", taps, state)
	}
	return x.WithDType(F32), wantStep(a[3])
}

func inferConvPast(a []Type, _ any) (Type, error) {
	x, taps, past := a[0], a[1], a[2]
	if x.Rank() != 2 || taps.Rank() != 2 || past.Rank() != 2 || !x.DType.Float() || !taps.DType.Float() || !past.DType.Float() {
		return Type{}, fmt.Errorf("want x [T,D], taps [D,K] and past [K-1,D], got %s, %s and %s", x, taps, past)
	}
	d, keep := x.Dims[1], past.Dims[0]
	if taps.Dims[0] != d || past.Dims[1] != d || keep.Sym != "" || taps.Dims[1] != N(keep.N+1) {
		return Type{}, fmt.Errorf("x %s, taps %s and past %s do not fit: want [T,D], [D,K] and [K-1,D]", x, taps, past)
	}
	return x.WithDType(F32), nil
}

func inferShift(a []Type, attr any) (Type, error) {
	if attr.(InplaceAttr).Inplace != 0 {
		return Type{}, fmt.Errorf("want the state written in place")
	}
	if err := wantWindow(a[0], a[2]); err != nil {
		return Type{}, err
	}
	return a[0], wantStep(a[1])
}

func wantWindow(state, x Type) error {
	if state.Kind != Window || len(state.Parts) != 1 || state.Parts[0].Rank() != 3 || x.Rank() != 2 || state.Parts[0].Last() != x.Last() {
		return fmt.Errorf("want a window state of one tensor [B,K-1,D] and x [T,D], got %s and %s", state, x)
	}
	return nil
}
