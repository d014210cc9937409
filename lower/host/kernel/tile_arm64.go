package kernel

const (
	tileNeon = iota
	tileDotProd
	tileI8MM
)

func (s *tileSet) mul(t *tile) {
	w8 := t.zero == 128
	switch {
	case s.kind == tileI8MM && w8:
		mulW8I8MM(t)
	case s.kind == tileI8MM:
		mulW4I8MM(t)
	case s.kind == tileDotProd && w8:
		mulW8DotProd(t)
	case s.kind == tileDotProd:
		mulW4DotProd(t)
	case w8:
		mulW8Neon(t)
	default:
		mulW4Neon(t)
	}
}

// sums leaves corr out where mul does: all codes of w8 but those of I8MM are made signed.
func (s *tileSet) sums(t *tile) {
	if s.kind == tileI8MM || t.zero != 128 {
		sumsNeon(t)
	}
}

func (s *tileSet) peak(n int) int {
	switch s.kind {
	case tileI8MM:
		peakI8MM(n)
		return 24 * 32 * 2
	case tileDotProd:
		peakDotProd(n)
		return 24 * 16 * 2
	}
	peakNeon(n)
	return 24 * 8 * 2
}
