package pack

import "sync"

// A buffers keeps memory that matrices were made in for the next ones: what is
// allocated anew is zeroed, and its pages are made, each time.
type buffers[E any] struct{ pool sync.Pool }

// take returns a slice with room for n elements.
func (b *buffers[E]) take(n int) []E {
	if p, ok := b.pool.Get().(*[]E); ok && cap(*p) >= n {
		return *p
	}
	return make([]E, 0, n)
}

// put gives a slice back. What is larger than two blocks is left to the garbage
// collector: what work of another kind leaves here is not in the budget.
func (b *buffers[E]) put(s []E) {
	if s = s[:0]; cap(s) <= 2*blockElems {
		b.pool.Put(&s)
	}
}
