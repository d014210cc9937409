package kernel

func (f *fmaSet) gemm(t *gemm)           { gemmNeon(t) }
func (f *fmaSet) weigh(t *weigh)         { weighNeon(t) }
func (f *fmaSet) packKeys(t *rowPanel)   { packKeysNeon(t) }
func (f *fmaSet) packValues(t *rowPanel) { packValuesNeon(t) }

// scale sets dst to src*factor; there are no pairs. No zero has a sign.
func (f *fmaSet) scale(dst, src []float32, factor float32, _ bool, _ *float32) {
	scaleNeon(&dst[0], &src[0], factor, len(src))
}

// peakFMA runs n steps of the instruction that gemm multiplies with and returns
// the operations of a step. There is none for pairs.
func (f *fmaSet) peakFMA(n int) int {
	peakFMA(n)
	return 24 * 4 * 2
}

func (f *fmaSet) peakPairs(int) int { return 0 }
