package interp_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"estream/ir"
	"estream/ir/interp"
)

// damages are ways in which a tensor may not be what its graph expects.
var damages = map[string]func(x *interp.Tensor){
	"empty":   func(x *interp.Tensor) { *x = interp.Tensor{} },
	"no data": func(x *interp.Tensor) { *x = interp.Tensor{Type: x.Type} },
	"short":   func(x *interp.Tensor) { x.F, x.I, x.A = cut(x.F), cut(x.I), cut(x.A) },
	"short codes": func(x *interp.Tensor) {
		if x.Q != nil {
			x.Q.Q = cut(x.Q.Q)
		}
	},
	"short half scales": func(x *interp.Tensor) {
		if x.Q != nil {
			x.Q.Scale = cut(x.Q.Scale)
		}
	},
	"other matrix": func(x *interp.Tensor) {
		if x.Q != nil {
			x.Q.K++
		}
	},
	"short scales":  func(x *interp.Tensor) { x.Scale = cut(x.Scale) },
	"short parts":   func(x *interp.Tensor) { x.Parts = cut(x.Parts) },
	"no part":       func(x *interp.Tensor) { clear(x.Parts) },
	"other rank":    func(x *interp.Tensor) { x.Type.Dims = cut(x.Type.Dims) },
	"no rows":       func(x *interp.Tensor) { resize(x, 0) },
	"fewer rows":    func(x *interp.Tensor) { resize(x, max(0, rows(x)-1)) },
	"more rows":     func(x *interp.Tensor) { resize(x, rows(x)+1) },
	"huge":          func(x *interp.Tensor) { setDim(x, math.MaxInt) },
	"negative":      func(x *interp.Tensor) { setDim(x, -1) },
	"minus one":     func(x *interp.Tensor) { fill(x, -1) },
	"smallest":      func(x *interp.Tensor) { fill(x, math.MinInt32) },
	"largest":       func(x *interp.Tensor) { fill(x, math.MaxInt32) },
	"one":           func(x *interp.Tensor) { fill(x, 1) },
	"falling":       func(x *interp.Tensor) { slices.Reverse(x.I) },
	"symbols":       func(x *interp.Tensor) { x.Type.Dims = []ir.Dim{ir.T, ir.R} },
	"unknown dtype": func(x *interp.Tensor) { x.Type.DType = 200 },
}

func cut[E any](s []E) []E { return s[:max(0, len(s)-1)] }

func fill(x *interp.Tensor, v int32) {
	for j := range x.I {
		x.I[j] = v
	}
	for j := range x.F {
		x.F[j] = []float32{nan, inf, -inf}[j%3]
	}
}

func rows(x *interp.Tensor) int {
	switch {
	case len(x.Parts) > 0:
		return rows(x.Parts[0])
	case len(x.Type.Dims) == 0:
		return 0
	}
	return x.Type.Dims[0].N
}

func setDim(x *interp.Tensor, n int) {
	if len(x.Type.Dims) > 0 {
		x.Type.Dims = slices.Clone(x.Type.Dims)
		x.Type.Dims[0].N = n
	}
	for j, p := range x.Parts {
		setDim(p, n)
		x.Type.Parts[j] = p.Type
	}
}

// resize makes x a well-formed tensor of n rows of zeros.
func resize(x *interp.Tensor, n int) {
	setDim(x, n)
	if !x.Type.DType.Encoded() {
		*x = *interp.New(x.Type)
	}
}

// TestMalformedTensors damages each input of each case, alone and with each
// other: whatever comes of it, it is no panic.
func TestMalformedTensors(t *testing.T) {
	for _, c := range opCases() {
		m := parse(t, c.text)
		for _, a := range slices.Sorted(maps.Keys(c.in)) {
			for _, b := range slices.Sorted(maps.Keys(c.in)) {
				for how := range damages {
					in := tensors{}
					for name, x := range c.in {
						in[name] = clone(x)
					}
					damages[how](in[a])
					if a != b {
						damages[how](in[b])
					}
					evalCalmly(t, m, in, fmt.Sprintf("%s: %s and %s: %s", c.name, a, b, how))
				}
			}
		}
	}
}

func clone(x *interp.Tensor) *interp.Tensor {
	y := *x
	y.Type.Parts = slices.Clone(x.Type.Parts)
	y.F, y.I, y.A, y.Scale, y.Parts = slices.Clone(x.F), slices.Clone(x.I), slices.Clone(x.A), slices.Clone(x.Scale), nil
	for _, p := range x.Parts {
		y.Parts = append(y.Parts, clone(p))
	}
	if x.Q != nil {
		q := *x.Q
		y.Q = &q
	}
	return &y
}

func evalCalmly(t *testing.T, m *ir.Module, in tensors, what string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v", what, p)
		}
	}()
	out, err := interp.Eval(m, m.Graphs[0], in, interp.Options{Experts: weights1})
	if err == nil && len(out) != len(m.Graphs[0].Outputs) {
		t.Fatalf("%s: neither outputs nor error", what)
	}
}
