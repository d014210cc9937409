package host

import (
	"fmt"

	"estream/ir"
	"estream/lower"
)

// A Func computes one op. An error about a row of the result is a *lower.RowError;
// the graph and the value are put before it.
type Func func(x *Exec) error

// An Exec is one op at work. In and Out have extents that are numbers and as
// many bytes as their types say; float operands come as f32, whatever they are in
// the graph, and matrices that matmul reads are packed. Where the op writes in
// place, Out is the operand's memory. An Exec may be used until its Func returns.
type Exec struct {
	Op   *ir.Op
	Attr any
	In   []lower.Buffer
	Out  lower.Buffer

	pool  *pool
	local any // what the Func of a core op keeps from one Run to the next
}

// For calls f with 0..n-1, on several threads. Calls must not depend on each
// other, and one should take several microseconds. It ends early when the Run is cancelled.
func (x *Exec) For(n int, f func(i int)) {
	_ = x.pool.loop(x, n, forkCost, func(_ *Exec, from, to int) error {
		for i := from; i < to; i++ {
			f(i)
		}
		return nil
	})
}

// f32 views operand i.
func (x *Exec) f32(i int) []float32 { return lower.F32(x.In[i].Bytes()) }

// i32 views operand i.
func (x *Exec) i32(i int) []int32 { return lower.I32(x.In[i].Bytes()) }

// out views the result.
func (x *Exec) out() []float32 { return lower.F32(x.Out.Bytes()) }

// keep returns the L that x keeps from Run to Run.
func keep[L any](x *Exec) *L {
	l, ok := x.local.(*L)
	if !ok {
		l = new(L)
		x.local = l
	}
	return l
}

// rows returns the number of rows along the last axis of t, and their length.
func rows(t ir.Type) (n, k int) {
	n = 1
	for _, d := range t.Dims[:len(t.Dims)-1] {
		n *= d.N
	}
	return n, t.Last().N
}

// rowwise returns the Func whose loop runs over the rows of the first operand,
// which has as many as the result; an element takes about cost nanoseconds.
func rowwise(cost int, f part) Func {
	return func(x *Exec) error {
		n, k := rows(x.In[0].Type)
		_, m := rows(x.Out.Type)
		err := x.pool.loop(x, n, cost*max(k, m), f)
		if t := x.In[0].Type; err != nil && t.Rank() > 2 { // of the last axis to the first
			return lower.MapRow(err, n, func(row int) int { return row / (n / t.Dims[0].N) })
		}
		return err
	}
}

// move copies the operand, unless the result is in the same place.
func move(x *Exec) error {
	src, dst := x.In[0].Bytes(), x.Out.Bytes()
	if len(src) != len(dst) {
		return fmt.Errorf("%d bytes do not fit %d", len(src), len(dst))
	}
	if len(src) > 0 && &src[0] != &dst[0] {
		copy(dst, src)
	}
	return nil
}
