package pack

import "sync"

// buffers keeps what matrices were read into for the next ones: memory that is
// allocated anew is zeroed, and its pages are made, each time.
type buffers struct{ pool sync.Pool }

// take returns a slice with room for n values.
func (b *buffers) take(n int) []float32 {
	if p, ok := b.pool.Get().(*[]float32); ok && cap(*p) >= n {
		return *p
	}
	return make([]float32, 0, n)
}

// put gives a slice back. What is larger than two blocks is left to the garbage
// collector: what work of another kind leaves here is not in the budget.
func (b *buffers) put(s []float32) {
	if s = s[:0]; cap(s) <= 2*blockElems {
		b.pool.Put(&s)
	}
}
