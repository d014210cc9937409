package runtime

import (
	"fmt"

	"estream/lower"
)

// routes say which rows each expert of a layer has, and by what weight.
type routes struct {
	start  []int32 // expert e has entries start[e] to start[e+1]-1
	rows   []int32 // ascending for each expert
	weight []float32
	wanted []bool
}

// set sorts the k choices of each token by expert.
func (r *routes) set(ids, weights lower.Buffer, experts int) error {
	id, w := lower.I32(ids.Bytes()), lower.F32(weights.Bytes())
	k := ids.Type.Last().N
	r.start = resize(r.start, experts+1)
	clear(r.start)
	for i, e := range id {
		if e < 0 || int(e) >= experts {
			return fmt.Errorf("token %d is routed to expert %d of %d", i/k, e, experts)
		}
		r.start[e+1]++
	}
	r.wanted = resize(r.wanted, experts)
	for e := range experts {
		r.wanted[e] = r.start[e+1] > 0
		r.start[e+1] += r.start[e]
	}
	r.rows, r.weight = resize(r.rows, len(id)), resize(r.weight, len(id))
	next := append([]int32(nil), r.start...)
	for i, e := range id {
		r.rows[next[e]], r.weight[next[e]] = int32(i/k), w[i]
		next[e]++
	}
	return nil
}

// of returns the rows of an expert and their weights.
func (r *routes) of(e int) ([]int32, []float32) {
	return r.rows[r.start[e]:r.start[e+1]], r.weight[r.start[e]:r.start[e+1]]
}

func resize[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
