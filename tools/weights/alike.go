package weights

import (
	"math"
	"slices"
)

// Alike tells how alike the experts of a layer are: the cosine of the angle between
// their weights, the mean over the matrices of an expert. 1 are copies, 0 have
// nothing in common: experts that were trained from random weights are near 0, those
// that began as copies of one feed-forward are not.
type Alike struct {
	Layer  int
	Cosine [][]float32 // [E][E], symmetric, 1 on its diagonal
}

// alike compares experts by samples of their weights, which are ordered by name and
// then expert; false where there are not two.
func alike(ts []Tensor, samples [][]float32) (Alike, bool) {
	vectors := map[string][][]float32{} // by name, of each expert
	for i, t := range ts {
		if t.Expert >= 0 && len(samples[i]) > 0 {
			vectors[t.Name] = append(vectors[t.Name], samples[i])
		}
	}
	n := 0
	for _, v := range vectors {
		n = max(n, len(v))
	}
	if n < 2 {
		return Alike{}, false
	}
	sum, counts := square(n), square(n)
	for _, name := range names(vectors) {
		addCosines(sum, counts, vectors[name])
	}
	for i := range n {
		for j := range n {
			sum[i][j] /= max(1, counts[i][j])
		}
	}
	return Alike{ts[0].Layer, sum}, true
}

func names(vectors map[string][][]float32) []string {
	var out []string
	for name := range vectors {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func square(n int) [][]float32 {
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, n)
	}
	return out
}

// addCosines adds those of all pairs of vectors that have one: zeros have none, nor
// has what is NaN or infinite.
func addCosines(sum, counts [][]float32, vectors [][]float32) {
	norms := make([]float64, len(vectors))
	for i, v := range vectors {
		norms[i] = math.Sqrt(dot(v, v))
	}
	for i := range vectors {
		for j := range i + 1 {
			if norm := norms[i] * norms[j]; !(norm > 0 && norm <= math.MaxFloat64) || len(vectors[i]) != len(vectors[j]) {
				continue
			}
			c := float32(1)
			if i != j {
				c = float32(dot(vectors[i], vectors[j]) / (norms[i] * norms[j]))
			}
			sum[i][j], counts[i][j] = sum[i][j]+c, counts[i][j]+1
			if i != j {
				sum[j][i], counts[j][i] = sum[j][i]+c, counts[j][i]+1
			}
		}
	}
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// Pair is the two experts that are most alike, and the mean over all pairs.
func (a Alike) Pair() (i, j int, most, mean float32) {
	most = float32(math.Inf(-1))
	sum, n := float32(0), float32(0)
	for x := range a.Cosine {
		for y := range x {
			c := a.Cosine[x][y]
			if sum, n = sum+c, n+1; c > most {
				i, j, most = y, x, c
			}
		}
	}
	return i, j, most, sum / max(1, n)
}
