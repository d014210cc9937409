package kernel

import (
	"fmt"

	"estream/lower"
)

// OneHot sets each n values of dst to 1 at the places that k values of ids name
// and to 0 elsewhere. An id out of range is a RowError.
func OneHot(dst []float32, ids []int32, n, k int) error {
	clear(dst)
	for i, id := range ids {
		if id < 0 || int(id) >= n {
			return &lower.RowError{Row: i / k, Err: fmt.Errorf("id %d is not below %d", id, n)}
		}
		dst[i/k*n+int(id)] = 1
	}
	return nil
}
