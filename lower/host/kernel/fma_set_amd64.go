package kernel

const (
	fmaAVX2 = iota
	fmaAVX512
)

func (f *fmaSet) gemm(t *gemm) {
	if f.kind == fmaAVX512 {
		gemmAVX512(t)
	} else {
		gemmAVX2(t)
	}
}

func (f *fmaSet) weigh(t *weigh) {
	switch {
	case f.kind == fmaAVX2:
		weighAVX2(t)
	case t.pairs:
		weighPairsAVX512(t)
	default:
		weighAVX512(t)
	}
}

func (f *fmaSet) packKeys(t *rowPanel) {
	if f.kind == fmaAVX512 {
		packKeysAVX512(t)
	} else {
		packKeysAVX2(t)
	}
}

func (f *fmaSet) packValues(t *rowPanel) {
	if f.kind == fmaAVX512 {
		packValuesAVX512(t)
	} else {
		packValuesAVX2(t)
	}
}

// scale sets dst, words of float32 or of pairs, to src*factor, and touches ahead,
// of which as much is used next. No zero has a sign.
func (f *fmaSet) scale(dst, src []float32, factor float32, pairs bool, ahead *float32) {
	switch {
	case f.kind == fmaAVX2:
		scaleAVX2(&dst[0], &src[0], factor, len(src), ahead)
	case pairs:
		scalePairsAVX512(&dst[0], &src[0], factor, len(src), ahead)
	default:
		scaleAVX512(&dst[0], &src[0], factor, len(src), ahead)
	}
}

// peakFMA and peakPairs run n steps of the instructions that gemm multiplies with
// and return the operations of a step.
func (f *fmaSet) peakFMA(n int) int {
	if f.kind == fmaAVX512 {
		peakFMAAVX512(n)
	} else {
		peakFMAAVX2(n)
	}
	return 12 * 2 * f.lanes
}

func (f *fmaSet) peakPairs(n int) int {
	peakPairsAVX512(n)
	return 12 * 4 * f.lanes
}
