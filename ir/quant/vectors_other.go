//go:build !amd64

package quant

func trials(t *[len(ratios)][lanes]float64, most *[lanes]float64) { trialsPlain(t, most) }

func quotients(scales, a, b *[lanes]float64) { quotientsPlain(scales, a, b) }

func magnitudes(a [][lanes]float32, w []float32, most *[lanes]uint32) {
	magnitudesPlain(a, w, most, lanes)
}

// screens reports whether there is screenFMA.
func screens() bool { return false }

func screenFMA([][lanes]float32, *[len(ratios)][lanes]float64, *[lanes]float64, *[2]float32, *[len(ratios)]uint8) {
	panic("quant: nothing is screened here")
}

func nearestVectors([]int8, []float32, float64, int8) int { return 0 }

func largestVectors([]float32) (most uint32, n int) { return 0, 0 }

func valuesVectors([]float32, []byte) int { return 0 }
