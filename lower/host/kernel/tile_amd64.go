package kernel

// tileRowsMax is how many rows a tile has at most.
const tileRowsMax = 6

const (
	tileAVX2 = iota
	tileAVX512
)

func (s *tileSet) mul(t *tile) {
	w8 := t.zero == 128
	switch {
	case s.kind == tileAVX512 && w8:
		mulW8AVX512(t)
	case s.kind == tileAVX512:
		mulW4AVX512(t)
	case w8:
		mulW8AVX2(t)
	default:
		mulW4AVX2(t)
	}
}

func (s *tileSet) sums(t *tile) { sumsAVX2(t) }

func (s *tileSet) peak(n int) int {
	if s.kind == tileAVX512 {
		peakAVX512(n)
		return 24 * 64 * 2
	}
	peakAVX2(n)
	return 12 * 32 * 2
}
