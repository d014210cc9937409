package kernel

const (
	tileNeon = iota
	tileDotProd
	tileI8MM
)

// tileRowsMax is how many rows a tile has at most. Tile functions take directRows;
// if there are more, codes are unpacked before, of unpackedK k at a time, which is
// then done once for all of them.
const (
	tileRowsMax = 48
	directRows  = 6
	unpackedK   = 512
)

// tileSums are sums of segments of directRows, [2 halves of the columns], as
// registers have them.
type tileSums [2][directRows * PanelColumns / 2]float32

// How a part of K begins and ends, for tile functions of unpacked codes.
const (
	partGoesOn = 1 << iota // its segment began in the part before
	partIsOpen             // its segment ends in a later part
	partIsLast
)

func (s *tileSet) mul(t *tile) {
	if t.unpackable() {
		s.mulUnpacked(t)
		return
	}
	part := *t
	for r := 0; r < t.rows; r += directRows {
		part.rows = min(directRows, t.rows-r)
		part.x, part.corr, part.dst = t.x[r*t.stride:], t.corr[r:], t.dst[r*t.dstStride/4:]
		s.mulDirect(&part)
	}
}

func (s *tileSet) mulDirect(t *tile) {
	var sums tileSums
	w8 := t.zero == 128
	switch {
	case s.kind == tileI8MM && w8:
		mulW8I8MM(t, &sums)
	case s.kind == tileI8MM:
		mulW4I8MM(t, &sums)
	case s.kind == tileDotProd && w8:
		mulW8DotProd(t, &sums)
	case s.kind == tileDotProd:
		mulW4DotProd(t, &sums)
	case w8:
		mulW8Neon(t, &sums)
	default:
		mulW4Neon(t, &sums)
	}
}

// unpackable reports whether t is worth unpacking and has segments that parts
// can hold, and blocks: those of all encodings.
func (t *tile) unpackable() bool {
	return t.rows > directRows &&
		(t.segments == 1 || t.segment <= unpackedK && t.segment%8 == 0) &&
		(t.perBlock == 0 || t.perBlock*t.segment == a8Block)
}

// mulUnpacked goes through K in parts: of whole segments, or of the only one.
func (s *tileSet) mulUnpacked(t *tile) {
	var codes [unpackedK * PanelColumns]byte
	var sums [tileRowsMax / directRows]tileSums
	part, step, k := *t, t.segment/t.steps, t.segments*t.segment
	part.codes = codes[:]
	n := unpackedK
	if t.segments > 1 {
		n -= n % t.segment
	}
	for at := 0; at < k; at += n {
		n = min(n, k-at)
		s.unpack(&codes, t.codes[at/step*blockBytes:][:n/step*blockBytes], t.zero)
		part.segments, part.steps = max(1, n/t.segment), (min(n, t.segment)+7)/8
		part.scales = t.scales[at/t.segment*t.next:]
		part.scaleAt = t.scaleAt - at
		if t.perBlock != 0 {
			part.scaleAt += at / a8Block * 4
		}
		s.mulPart(part, t, at, n, sums[:])
	}
}

// mulPart multiplies the n values from k on of all rows of t, in tiles of pairs.
func (s *tileSet) mulPart(part tile, t *tile, k, n int, sums []tileSums) {
	how := 0
	if k%t.segment != 0 {
		how |= partGoesOn
	}
	if (k+n)%t.segment != 0 {
		how |= partIsOpen
	}
	if k+n == t.segments*t.segment {
		how |= partIsLast
	}
	bias := 0
	if t.zero == 8 || t.segment <= 256 {
		bias = 0x4b400000 // sums stay below 1<<22
	}
	pairs, tiles := (t.rows+1)/2, (t.rows+directRows-1)/directRows
	for i := range tiles {
		r, end := i*pairs/tiles*2, min(t.rows, (i+1)*pairs/tiles*2)
		part.rows, part.x, part.dst = end-r, t.x[r*t.stride+k:], t.dst[r*t.dstStride/4:]
		if s.kind == tileI8MM {
			mulUnpackedI8MM(&part, &sums[i], how, bias)
		} else {
			mulUnpackedDotProd(&part, &sums[i], how, bias)
		}
	}
}

func (s *tileSet) unpack(dst *[unpackedK * PanelColumns]byte, codes []byte, zero int) {
	n, i8mm := len(codes)/blockBytes, s.kind == tileI8MM
	switch {
	case i8mm && zero == 128:
		unpackW8I8MM(&dst[0], &codes[0], n)
	case i8mm:
		unpackW4I8MM(&dst[0], &codes[0], n)
	case zero == 128:
		unpackW8DotProd(&dst[0], &codes[0], n)
	default:
		unpackW4DotProd(&dst[0], &codes[0], n)
	}
}

// sums leaves corr out where mul does: w8 of all but I8MM is made signed.
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
