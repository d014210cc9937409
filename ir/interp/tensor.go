package interp

import (
	"fmt"

	"estream/ir"
	"estream/ir/quant"
)

// A Tensor is a type and the elements in order, the last axis fastest. Which
// field holds them depends on Type.DType.
type Tensor struct {
	Type  ir.Type       // extents are numbers, also of Parts
	F     []float32     // f32, f16, bf16: values that the type can hold
	I     []int32       // i32
	A     []int8        // a8, a8g128: codes
	Scale []float32     // a8, a8g128: [rows][K/g], g = DType.Group(K)
	Q     *quant.Matrix // encoded weights [N,K]
	Parts []*Tensor     // states
}

// New returns the tensor of zeros of a type that is not a weight's encoding and
// whose extents are numbers.
func New(t ir.Type) *Tensor {
	out := &Tensor{Type: t}
	switch n := out.elems(); {
	case t.DType.Float():
		out.F = make([]float32, n)
	case t.DType == ir.I32:
		out.I = make([]int32, n)
	case t.DType.Activation():
		k := t.Last().N
		out.A, out.Scale = make([]int8, n), make([]float32, n/t.DType.Group(k))
	}
	for _, p := range t.Parts {
		out.Parts = append(out.Parts, New(p))
	}
	return out
}

// Floats returns the f32 tensor of the given extents over data, which it keeps.
func Floats(data []float32, extents ...int) *Tensor {
	return &Tensor{Type: typeOf(ir.F32, extents), F: data}
}

// Ints returns the i32 tensor of the given extents over data, which it keeps.
func Ints(data []int32, extents ...int) *Tensor {
	return &Tensor{Type: typeOf(ir.I32, extents), I: data}
}

// Matrix returns a weight [N,K] as a tensor that shares m's values.
func Matrix(m *quant.Matrix) *Tensor {
	t := typeOf(m.DType, []int{m.N, m.K})
	if m.DType.Encoded() {
		return &Tensor{Type: t, Q: m}
	}
	return &Tensor{Type: t, F: m.F}
}

func typeOf(d ir.DType, extents []int) ir.Type {
	t := ir.Tensor(d)
	for _, n := range extents {
		t.Dims = append(t.Dims, ir.N(n))
	}
	return t
}

const maxElems = 1 << 40

// elems returns the number of elements, or -1 if the extents are not numbers
// that a tensor may have.
func (t *Tensor) elems() int {
	n := 1
	for _, d := range t.Type.Dims {
		if d.Sym != "" || d.N < 0 || d.N > maxElems/max(n, 1) {
			return -1
		}
		n *= d.N
	}
	return n
}

// rows returns how many rows of k elements along the last axis t has.
func (t *Tensor) rows() (n, k int) {
	k = t.Type.Last().N
	return t.elems() / max(k, 1), k
}

// check reports what makes t unfit to be read as its type says.
func (t *Tensor) check() error {
	if t == nil {
		return fmt.Errorf("no tensor")
	}
	if t.Type.DType == ir.State {
		return t.checkParts()
	}
	n := t.elems()
	if n < 0 {
		return fmt.Errorf("%s has no size", t.Type)
	}
	d, k := t.Type.DType, t.Type.Last().N
	switch {
	case d.Float():
		return t.checkLen("values", len(t.F), n)
	case d == ir.I32:
		return t.checkLen("values", len(t.I), n)
	case d.Activation() && k > 0 && k%d.Group(k) == 0:
		if err := t.checkLen("codes", len(t.A), n); err != nil {
			return err
		}
		return t.checkLen("scales", len(t.Scale), n/d.Group(k))
	case d.Encoded() && k > 0 && k%d.Group(k) == 0:
		return t.checkMatrix()
	}
	return fmt.Errorf("%s is no tensor's type", t.Type)
}

func (t *Tensor) checkParts() error {
	if len(t.Parts) != len(t.Type.Parts) {
		return fmt.Errorf("%s has %d parts, want %d", t.Type, len(t.Parts), len(t.Type.Parts))
	}
	for i, p := range t.Parts {
		if err := p.check(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		if !p.Type.Equal(t.Type.Parts[i]) || !p.Type.DType.Float() {
			return fmt.Errorf("part %d of %s has type %s", i, t.Type, p.Type)
		}
	}
	return nil
}

func (t *Tensor) checkMatrix() error {
	m, d := t.Q, t.Type.DType
	if t.Type.Rank() != 2 || m == nil {
		return fmt.Errorf("%s is not held by a matrix", t.Type)
	}
	if n, k := t.Type.Dims[0].N, t.Type.Dims[1].N; m.DType != d || m.N != n || m.K != k {
		return fmt.Errorf("%s is held by a matrix %s[%d,%d]", t.Type, m.DType, m.N, m.K)
	}
	if err := t.checkLen("codes", len(m.Q), m.N*m.K); err != nil {
		return err
	}
	if !(m.Factor > 0) {
		return fmt.Errorf("%s has factor %v, want a power of two", t.Type, m.Factor)
	}
	return t.checkLen("scales", len(m.Scale), m.N*(m.K/d.Group(m.K)))
}

func (t *Tensor) checkLen(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("%s has %d %s, want %d", t.Type, got, what, want)
	}
	return nil
}

// row returns the logical values of row i of t, a matrix of a plain type or an
// encoding; it may use buf, of K values.
func (t *Tensor) row(i int, buf []float32) []float32 {
	k := len(buf)
	if t.Q == nil {
		return t.F[i*k : (i+1)*k]
	}
	g := t.Type.DType.Group(k)
	for j := range buf {
		scale := quant.FromF16(t.Q.Scale[(i*k+j)/g])
		buf[j] = float32(t.Q.Q[i*k+j]) * scale * t.Q.Factor
	}
	return buf
}

// round returns x rounded to the float type d, ties to even.
func round(d ir.DType, x float32) float32 {
	switch d {
	case ir.F16:
		return quant.FromF16(quant.F16(x))
	case ir.BF16:
		return quant.FromBF16(quant.BF16(x))
	}
	return x
}
