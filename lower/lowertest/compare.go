package lowertest

import (
	"fmt"
	"math"

	"estream/ir"
	"estream/ir/interp"
)

// A Tolerance is how far a backend may be from the interpreter.
type Tolerance struct {
	Rel float64 // of the largest finite magnitude that the interpreter has in the tensor
	Why string
}

// or returns the wider of two tolerances.
func (t Tolerance) or(u Tolerance) Tolerance {
	if u.Rel > t.Rel {
		return u
	}
	return t
}

// compare returns why got is not want within tol, or nil. Whole numbers, codes
// and their scales must be equal.
func compare(what string, got, want *interp.Tensor, tol Tolerance) error {
	if !got.Type.Equal(want.Type) {
		return fmt.Errorf("%s: type is %s, want %s", what, got.Type, want.Type)
	}
	for i := range want.Parts {
		if err := compare(fmt.Sprintf("%s, part %d", what, i), got.Parts[i], want.Parts[i], tol); err != nil {
			return err
		}
	}
	exact := Tolerance{0, "whole numbers, codes and scales are exact"}
	for _, err := range []error{
		worst(what, want.Type, floats(got.I), floats(want.I), exact),
		worst(what+", codes", want.Type, floats(got.A), floats(want.A), exact),
		worst(what+", scales", ir.Type{}, got.Scale, want.Scale, exact),
		worst(what, want.Type, got.F, want.F, tol),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func floats[E int8 | int32](xs []E) []float32 {
	f := make([]float32, len(xs))
	for i, x := range xs {
		f[i] = float32(x)
	}
	return f
}

// worst reports the element that is furthest off, if it is beyond tol.
func worst(what string, t ir.Type, got, want []float32, tol Tolerance) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d elements, want %d", what, len(got), len(want))
	}
	top := 0.0
	for _, x := range want {
		if a := math.Abs(float64(x)); !math.IsInf(a, 0) && a > top {
			top = a
		}
	}
	at, off := -1, tol.Rel*top
	for i := range want {
		if d := distance(got[i], want[i]); d > off || math.IsInf(d, 1) && at < 0 {
			at, off = i, d
		}
	}
	if at < 0 {
		return nil
	}
	return fmt.Errorf("%s %s: worst is element %d %v: got %v, want %v, off by %.3g, tolerance %.3g = %.3g of the largest, %.3g (%s)",
		what, t, at, index(t, at), got[at], want[at], off, tol.Rel*top, tol.Rel, top, tol.Why)
}

// distance is 0 for two NaNs or equal infinities, and infinite if only one
// number is finite.
func distance(x, y float32) float64 {
	switch d := math.Abs(float64(x) - float64(y)); {
	case x == y || x != x && y != y:
		return 0
	case math.IsNaN(d):
		return math.Inf(1)
	default:
		return d
	}
}

// index returns the place of element i in the extents of t.
func index(t ir.Type, i int) []int {
	at := make([]int, len(t.Dims))
	for d := len(t.Dims) - 1; d >= 0; d-- {
		at[d], i = i%t.Dims[d].N, i/t.Dims[d].N
	}
	return at
}
