package tokenizer

// symbol is a token of a word on its way to longer tokens, in a list linked both ways by index.
type symbol struct {
	id         int32 // noID once merged into the one before it
	prev, next int32
}

const noSymbol int32 = -1

func (w *worker) add(id int32) {
	at := int32(len(w.symbols))
	if at > 0 {
		w.symbols[at-1].next = at
	}
	w.symbols = append(w.symbols, symbol{id, at - 1, noSymbol})
}

// merge joins neighbours, always the most urgent pair and of equal ones the leftmost, until none can be joined.
// It takes O(n log n) time: each join offers at most two new pairs.
func (w *worker) merge() {
	s := w.symbols
	for at := range s {
		w.offer(int32(at))
	}
	for len(w.queue) > 0 {
		rank, at := w.queue.pop()
		next := s[at].next
		if s[at].id == noID || next == noSymbol {
			continue
		}
		m, ok := w.model.merges.find(pair{s[at].id, s[next].id})
		if !ok || m.rank != rank {
			continue // the pair that was offered here is gone
		}
		after := s[next].next
		s[at].id, s[at].next, s[next].id = m.id, after, noID
		if after != noSymbol {
			s[after].prev = at
		}
		w.offer(at)
		if s[at].prev != noSymbol {
			w.offer(s[at].prev)
		}
	}
}

// offer queues the pair of a symbol and the one after it, if they can be joined.
func (w *worker) offer(at int32) {
	next := w.symbols[at].next
	if next == noSymbol {
		return
	}
	if m, ok := w.model.merges.find(pair{w.symbols[at].id, w.symbols[next].id}); ok {
		w.queue.push(m.rank, at)
	}
}

// mergeQueue is a binary heap of places of pairs, by rank and then by place: the least is at 0.
type mergeQueue []uint64

func (q *mergeQueue) push(rank, at int32) {
	h := append(*q, uint64(rank)<<32|uint64(at))
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if h[parent] <= h[i] {
			break
		}
		h[parent], h[i] = h[i], h[parent]
		i = parent
	}
	*q = h
}

func (q *mergeQueue) pop() (rank, at int32) {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if h[child] < h[least] {
				least = child
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*q = h
	return int32(top >> 32), int32(uint32(top))
}
