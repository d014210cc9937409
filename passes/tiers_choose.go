package passes

import (
	"math"
	"slices"
)

// A Seen says in how many calls an expert had so many rows.
type Seen struct{ Rows, Times int }

// ChooseRows returns at most n tiers of R, rising multiples of step, that make the
// cost of running experts of the given rows one at a time on the device least, as
// Spread runs them; of equals, few tiers and large ones. There is always one.
//
// For each largest tier the rows beyond it are launches that no other choice
// changes. The sizes below it are then chosen by dynamic programming over what is
// left of each expert's rows: exact, in time of about n*(most/step)^3/6.
func ChooseRows(seen []Seen, n int, c Cost, step int) []int {
	step = max(step, 1)
	most := 1
	for _, s := range seen {
		if s.Times > 0 {
			most = max(most, s.Rows)
		}
	}
	best, cost := []int{step}, math.Inf(1)
	for largest := (most + step - 1) / step; largest > 0; largest-- {
		k := newChooser(seen, c, step, largest)
		if k.base >= cost {
			continue
		}
		if sizes, padded := k.below(max(n, 1)); k.base+padded < cost {
			best, cost = sizes, k.base+padded
		}
	}
	return best
}

// A chooser chooses the tiers below one largest. Sizes count in steps.
type chooser struct {
	step  int
	sizes []int     // candidates, rising, after a 0; the last is the largest
	times []float64 // how often what is left of rows is one of candidates 0 to i
	steps []float64 // and how much that is together
	base  float64   // seconds of all launches and of the real rows
	row   float64   // seconds of a step of rows
}

func newChooser(seen []Seen, c Cost, step, largest int) *chooser {
	k := &chooser{step: step, row: c.Row * float64(step), sizes: []int{0}, times: []float64{0}, steps: []float64{0}}
	times := make([]float64, largest+1)
	for _, s := range seen {
		if s.Rows <= 0 || s.Times <= 0 {
			continue
		}
		full := (s.Rows - 1) / (largest * step)
		left := (s.Rows - full*largest*step + step - 1) / step
		times[left] += float64(s.Times)
		k.base += float64(s.Times) * (float64(full+1)*(c.Launch+c.Body) + float64(full*largest+left)*k.row)
	}
	for size, n := range times {
		if i := len(k.sizes) - 1; n > 0 || size == largest {
			k.sizes, k.times, k.steps = append(k.sizes, size), append(k.times, k.times[i]+n), append(k.steps, k.steps[i]+n*float64(size))
		}
	}
	return k
}

// padding is the seconds of what candidates after from lack of the size of to.
func (k *chooser) padding(from, to int) float64 {
	return k.row * (float64(k.sizes[to])*(k.times[to]-k.times[from]) - (k.steps[to] - k.steps[from]))
}

// below returns at most n tiers and the seconds of padding that they leave.
func (k *chooser) below(n int) ([]int, float64) {
	last := len(k.sizes) - 1
	was := make([]float64, last+1) // the least padding up to a candidate that is the last of so many tiers
	for i := range was {
		was[i] = k.padding(0, i)
	}
	before := [][]int{make([]int, last+1)} // which candidate is the tier before it
	for len(before) < n {
		now, at := slices.Repeat([]float64{math.Inf(1)}, last+1), make([]int, last+1)
		for i := range now {
			for j := 1; j < i; j++ {
				if p := was[j] + k.padding(j, i); p < now[i] {
					now[i], at[i] = p, j
				}
			}
		}
		if !(now[last] < was[last]) {
			break // each further tier gains less than the one before it
		}
		was, before = now, append(before, at)
	}
	sizes := make([]int, len(before))
	for level, i := len(before)-1, last; level >= 0; level-- {
		sizes[level] = k.sizes[i] * k.step
		i = before[level][i]
	}
	return sizes, was[last]
}
