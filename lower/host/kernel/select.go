package kernel

import (
	"fmt"
	"math"

	"estream/lower"
)

// TopK sets each k values of dst to the places of the k largest of a row of n
// values of x, the largest first, ties to the lower place. A NaN is a RowError.
func (s *Set) TopK(dst []int32, x []float32, n, k int) error {
	var c contest
	for r := 0; r*n < len(x); r++ {
		row, out := x[r*n:(r+1)*n], dst[r*k:(r+1)*k]
		for i, v := range row {
			if v != v {
				return &lower.RowError{Row: r, Err: fmt.Errorf("value %d is NaN", i)}
			}
		}
		if n > len(c.keys) {
			topK(out, row)
			continue
		}
		c.enter(row)
		for j := range out {
			out[j] = c.take()
		}
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

const contestGroup = 16

// A contest finds the largest of a row, then the next, and so on, without a branch
// that depends on the values. A key orders as its value does, then as places do
// backwards; 0 is below all. best are the largest keys of each group.
type contest struct {
	keys [1024]uint64
	best [1024 / contestGroup]uint64
	n    int
}

func (c *contest) enter(row []float32) {
	c.n = len(row)
	for i, v := range row {
		bits := math.Float32bits(v + 0) // not -0
		bits ^= uint32(int32(bits)>>31) | 1<<31
		c.keys[i] = uint64(bits)<<32 | uint64(^uint32(i))
	}
	for g := 0; g < c.n; g += contestGroup {
		c.judge(g / contestGroup)
	}
}

// judge finds the best of group g.
func (c *contest) judge(g int) {
	c.best[g] = largest(c.keys[g*contestGroup : min((g+1)*contestGroup, c.n)])
}

func largest(keys []uint64) uint64 {
	top := uint64(0)
	for _, k := range keys {
		top = max(top, k)
	}
	return top
}

// take returns the place of the largest and takes it out.
func (c *contest) take() int32 {
	i := int(^uint32(largest(c.best[:(c.n+contestGroup-1)/contestGroup])))
	c.keys[i] = 0
	c.judge(i / contestGroup)
	return int32(i)
}

// Gather sets each k values of dst to those that k values of ids name in a row
// of n values of x. An id out of range is a RowError.
func Gather(dst, x []float32, ids []int32, n, k int) error {
	for r := 0; r*k < len(ids); r++ {
		row, out := x[r*n:(r+1)*n], dst[r*k:(r+1)*k]
		for j, id := range ids[r*k : (r+1)*k] {
			if id < 0 || int(id) >= n {
				return &lower.RowError{Row: r, Err: fmt.Errorf("id %d is not below %d", id, n)}
			}
			out[j] = row[id]
		}
	}
	return nil
}
