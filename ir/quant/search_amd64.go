package quant

// improve is improvePlain.
func improve(a [][lanes]float32, trial *[lanes]float64, f *found) {
	if vectors {
		improveFMA(a, trial, f)
	} else {
		improvePlain(a, trial, f)
	}
}

// trials is trialsPlain.
func trials(t *[len(ratios)][lanes]float64, most *[lanes]float64) {
	if vectors {
		trialsAVX(t, most, &ratios)
	} else {
		trialsPlain(t, most)
	}
}

// quotients is quotientsPlain.
func quotients(scales, a, b *[lanes]float64) {
	if vectors {
		quotientsAVX(scales, a, b)
	} else {
		quotientsPlain(scales, a, b)
	}
}

// magnitudes is magnitudesPlain of as many groups as there are lanes.
func magnitudes(a [][lanes]float32, w []float32, most *[lanes]uint32) {
	if n := len(a); vectors && n%8 == 0 && len(w) >= lanes*n {
		magnitudesAVX(a, w, most)
	} else {
		magnitudesPlain(a, w, most, lanes)
	}
}

// screens reports whether there is screenFMA.
func screens() bool { return vectors }

// improveFMA is improvePlain bit for bit.
//
//go:noescape
func improveFMA(a [][lanes]float32, trial *[lanes]float64, f *found)

//go:noescape
func trialsAVX(t *[len(ratios)][lanes]float64, most *[lanes]float64, ratios *[len(ratios)]float64)

//go:noescape
func quotientsAVX(scales, a, b *[lanes]float64)

//go:noescape
func magnitudesAVX(a [][lanes]float32, w []float32, most *[lanes]uint32)

// screenFMA sets bits of near: of each trial, for each lane whether its error is
// within slack of the least, there being weights.
//
//go:noescape
func screenFMA(a [][lanes]float32, trials *[len(ratios)][lanes]float64, most *[lanes]float64, slack *[2]float32, near *[len(ratios)]uint8)
