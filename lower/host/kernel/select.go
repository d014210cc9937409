package kernel

import (
	"fmt"

	"estream/lower"
)

// TopK sets each k values of dst to the places of the k largest of a row of n
// values of x, the largest first, ties to the lower place. A NaN is a RowError.
func (s *Set) TopK(dst []int32, x []float32, n, k int) error {
	for r := 0; r*n < len(x); r++ {
		row := x[r*n : (r+1)*n]
		for i, v := range row {
			if v != v {
				return &lower.RowError{Row: r, Err: fmt.Errorf("value %d is NaN", i)}
			}
		}
		topK(dst[r*k:(r+1)*k], row)
	}
	return nil
}

// topK finds each next place as the best of those that come after the last one.
func topK(dst []int32, row []float32) {
	last := -1
	for j := range dst {
		best := -1
		for i, v := range row {
			after := last < 0 || v < row[last] || v == row[last] && i > last
			if after && (best < 0 || v > row[best]) {
				best = i
			}
		}
		dst[j], last = int32(best), best
	}
}

// Gather sets each k values of dst to those that k values of ids name in a row
// of n values of x. An id out of range is a RowError.
func Gather(dst, x []float32, ids []int32, n, k int) error {
	for i, id := range ids {
		if id < 0 || int(id) >= n {
			return &lower.RowError{Row: i / k, Err: fmt.Errorf("id %d is not below %d", id, n)}
		}
		dst[i] = x[i/k*n+int(id)]
	}
	return nil
}
