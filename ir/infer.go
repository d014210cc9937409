package ir

import (
	"fmt"
	"slices"
)

func wantFloat(what string, t Type) error {
	if !t.DType.Float() {
		return fmt.Errorf("%s is %s, want a float tensor", what, t)
	}
	return nil
}

func inferFloat(a []Type, _ any) (Type, error) {
	return a[0].WithDType(F32), wantFloat("operand", a[0])
}

func inferEmbed(a []Type, _ any) (Type, error) {
	if a[0].Rank() != 2 || a[1].Rank() != 1 || a[0].DType.Activation() {
		return Type{}, fmt.Errorf("want a table [U,H] and ids [T], got %s and %s", a[0], a[1])
	}
	return Tensor(F32, a[1].Dims[0], a[0].Dims[1]), nil
}

func inferMatMul(a []Type, _ any) (Type, error) {
	x, w := a[0], a[1]
	if w.Rank() != 2 || x.Last() != w.Last() {
		return Type{}, fmt.Errorf("inner extents differ: %s and %s", x, w)
	}
	if x.DType.Encoded() || w.DType.Activation() || x.DType.Activation() && !w.DType.Encoded() {
		return Type{}, fmt.Errorf("cannot multiply %s by %s", x.DType, w.DType)
	}
	return x.WithLast(w.Dims[0]).WithDType(F32), nil
}

func inferElementwise(a []Type, _ any) (Type, error) {
	x, y := a[0], a[1]
	if err := wantFloat("x", x); err != nil {
		return Type{}, err
	}
	if err := wantFloat("y", y); err != nil {
		return Type{}, err
	}
	same := slices.Equal(x.Dims, y.Dims)
	vector := y.Rank() == 1 && y.Last() == x.Last()
	column := slices.Equal(x.WithLast(N(1)).Dims, y.Dims)
	if !same && !vector && !column {
		return Type{}, fmt.Errorf("extents differ: %s and %s", x, y)
	}
	return x.WithDType(F32), nil
}

func inferSum(a []Type, _ any) (Type, error) {
	return a[0].WithLast(N(1)).WithDType(F32), wantFloat("operand", a[0])
}

func inferNorm(a []Type, _ any) (Type, error) {
	if a[1].Rank() != 1 || a[0].Last() != a[1].Last() || !a[0].DType.Float() || !a[1].DType.Float() {
		return Type{}, fmt.Errorf("gain %s does not fit %s", a[1], a[0])
	}
	return a[0].WithDType(F32), nil
}

func inferReshape(a []Type, attr any) (Type, error) {
	t := Tensor(F32, attr.(ReshapeAttr).Dims...)
	if err := wantFloat("operand", a[0]); err != nil {
		return Type{}, err
	}
	if err := t.check(); err != nil {
		return Type{}, err
	}
	if elems(a[0].Dims) != elems(t.Dims) {
		return Type{}, fmt.Errorf("%s and %s hold different numbers of elements", a[0], t)
	}
	return t, nil
}

// maxElems bounds what a product of extents counts.
const maxElems = 1 << 40

// elems is the number of elements as text: the product of the numbers, then the
// symbolic extents in order of their names.
func elems(dims []Dim) string {
	n, syms := 1, []string{}
	for _, d := range dims {
		if d.Sym != "" {
			syms = append(syms, d.String())
			continue
		}
		if d.N > maxElems/max(n, 1) {
			return "too many to hold, " + dimsString(dims)
		}
		n *= d.N
	}
	slices.Sort(syms)
	return fmt.Sprint(n, syms)
}

func inferSlice(a []Type, attr any) (Type, error) {
	s, k := attr.(SliceAttr), a[0].Last()
	if s.From < 0 || s.From >= s.To || k.Sym != "" || s.To > k.N {
		return Type{}, fmt.Errorf("%d to %d is no part of %s", s.From, s.To, a[0])
	}
	return a[0].WithLast(N(s.To - s.From)).WithDType(F32), wantFloat("operand", a[0])
}

func inferConcat(a []Type, _ any) (Type, error) {
	var last Dim
	for _, t := range a {
		if t.Last().Sym != "" || !slices.Equal(t.WithLast(N(1)).Dims, a[0].WithLast(N(1)).Dims) || !t.DType.Float() {
			return Type{}, fmt.Errorf("cannot join %s to %s", t, a[0])
		}
		last.N += t.Last().N
	}
	return a[0].WithLast(last).WithDType(F32), nil
}

func inferRoPE(a []Type, attr any) (Type, error) {
	x, pos := a[0], a[1]
	if x.Rank() != 3 || pos.Rank() != 1 || pos.Dims[0] != x.Dims[0] || x.Last().Sym != "" || x.Last().N%2 != 0 {
		return Type{}, fmt.Errorf("want x [T,H,even D] and pos [T], got %s and %s", x, pos)
	}
	if a := attr.(RoPEAttr); !(a.Theta > 0 && a.Factor >= 0 && a.Scale >= 0) {
		return Type{}, fmt.Errorf("theta=%v is not positive, or factor=%v or scale=%v is negative", a.Theta, a.Factor, a.Scale)
	}
	return x.WithDType(F32), wantFloat("x", x)
}

func inferTopK(a []Type, attr any) (Type, error) {
	if k := attr.(TopKAttr).K; k < 1 || a[0].Last().Sym != "" || k > a[0].Last().N {
		return Type{}, fmt.Errorf("k=%d is out of range for %s", k, a[0])
	}
	return a[0].WithLast(N(attr.(TopKAttr).K)).WithDType(I32), wantFloat("operand", a[0])
}

func inferOneHot(a []Type, attr any) (Type, error) {
	if n := attr.(OneHotAttr).N; n < 1 {
		return Type{}, fmt.Errorf("n=%d is not positive", n)
	}
	return a[0].WithLast(N(attr.(OneHotAttr).N)).WithDType(F32), nil
}

func inferGather(a []Type, _ any) (Type, error) {
	if !slices.Equal(a[0].WithLast(N(1)).Dims, a[1].WithLast(N(1)).Dims) {
		return Type{}, fmt.Errorf("ids %s do not fit %s", a[1], a[0])
	}
	return a[1].WithDType(F32), wantFloat("x", a[0])
}

func inferExperts(a []Type, _ any) (Type, error) {
	x, ids, w := a[0], a[1], a[2]
	if x.Rank() != 2 || ids.Rank() != 2 || ids.Dims[0] != x.Dims[0] || !slices.Equal(ids.Dims, w.Dims) || !w.DType.Float() {
		return Type{}, fmt.Errorf("want x [T,H], ids [T,k], weights [T,k], got %s, %s, %s", x, ids, w)
	}
	return x.WithDType(F32), nil
}

func inferQuantize(a []Type, attr any) (Type, error) {
	t := a[0].WithDType(attr.(QuantizeAttr).To)
	if !t.DType.Activation() {
		return Type{}, fmt.Errorf("cannot quantize to %s", t.DType)
	}
	if err := t.check(); err != nil {
		return Type{}, err
	}
	return t, wantFloat("operand", a[0])
}

func inferGatherRows(a []Type, _ any) (Type, error) {
	x, rows := a[0], a[1]
	if x.Rank() != 2 || rows.Rank() != 1 || x.DType.Encoded() {
		return Type{}, fmt.Errorf("want x [T,H] and rows [R], got %s and %s", x, rows)
	}
	return Tensor(x.DType, rows.Dims[0], x.Dims[1]), nil
}

func inferScaleRows(a []Type, _ any) (Type, error) {
	x, w := a[0], a[1]
	if x.Rank() != 2 || w.Rank() != 1 || w.Dims[0] != x.Dims[0] || !w.DType.Float() {
		return Type{}, fmt.Errorf("want x [R,H] and w [R], got %s and %s", x, w)
	}
	return x.WithDType(F32), wantFloat("x", x)
}

func inferScatterAdd(a []Type, attr any) (Type, error) {
	y, x, rows := a[0], a[1], a[2]
	if attr.(InplaceAttr).Inplace != 0 || y.DType != F32 || y.Rank() != 2 || x.Rank() != 2 || rows.Rank() != 1 || x.Dims[0] != rows.Dims[0] || x.Dims[1] != y.Dims[1] {
		return Type{}, fmt.Errorf("want y [T,H] written in place, x [R,H] and rows [R], got %s, %s, %s", y, x, rows)
	}
	return y, wantFloat("x", x)
}
