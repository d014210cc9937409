package kernel

import (
	"estream/ir"
	"estream/lower"
)

// A tile is a few rows of x times one panel, and the argument of a tile
// function, which sets dst. Assembly takes a slice's first word for its address
// and trusts that what the other fields say lies within; it changes none but scratch.
type tile struct {
	segments int // of K
	steps    int // of a segment: each is 128 bytes of codes and, of a row, 4 bytes (w8) or 8 (w4)
	segment  int // bytes of a row in a segment: steps*4 or steps*8
	zero     int // the zero point of codes: 128 (w8) or 8 (w4)
	next     int // bytes from one segment's scales to the next one's: 64, or 0 where all share them
	perBlock int // segments that share a scale of the row; 0 where the whole row does

	codes  []byte // of the panel
	scales []byte // of the panel: [32] f16 a segment, next bytes apart
	factor float32
	ahead  []byte // starts with what else should come into the cache: a hint, which AVX-512 alone reads
	pace   int    // bytes that this moves on in a step, for AVX-512 as well

	rows       int    // 1 to tileRowsMax
	x          []byte // [rows], stride bytes apart, each segments*segment codes
	stride     int
	scaleAt    int     // where a row's scales stand in it: one f32, or one a block
	corr       []int32 // [segments][rows], corrStride bytes apart: -zero times the sum of a row's segment;
	corrStride int     // sums of products start there

	dst       []float32 // [rows][32], dstStride bytes apart
	dstStride int

	scratch []int32 // [128], for tile functions to use
}

// sumRows is how many rows sums takes at most.
const sumRows = 4

// newTile returns what all tiles of w and x have in common.
func newTile(w *Matrix, blocks bool) tile {
	t := tile{segment: w.DType.Group(w.K), zero: 8, next: scaleBytes, factor: w.Factor, stride: a8RowBytes(w.K, blocks), scaleAt: lower.ScaleOffset(w.K)}
	if w.DType == ir.W8 {
		t.zero = 128
	}
	if blocks && t.segment > a8Block { // then it is the whole row
		t.segment, t.next = a8Block, 0
	}
	if blocks {
		t.perBlock = a8Block / t.segment
	}
	step := kStep(w.DType)
	t.segments = w.K / t.segment
	t.steps = (t.segment + step - 1) / step
	t.segment = t.steps * step
	return t
}

// lookAhead sets ahead for tile i of a panel. Of several tiles two ask for half of
// the next panel each, so that memory is at work while the others have their codes
// in the cache. A tile alone asks for its own codes a little earlier, which helped
// in measurements unless it has few rows of w8: those wait for memory anyway.
func (t *tile) lookAhead(i, tiles int, next []byte) {
	t.ahead, t.pace = nil, 0
	switch {
	case tiles == 1 && (t.zero == 8 || t.rows > 4):
		t.ahead, t.pace = t.codes[min(8192, len(t.codes)):], blockBytes
	case tiles == 1:
	case i == 0:
		t.ahead, t.pace = next, blockBytes/2
	case i == (tiles+1)/2:
		t.ahead, t.pace = next[len(next)/2:], blockBytes/2
	}
}

// A tileSet says which tile functions run: those of an instruction set. They are
// called by name, in its methods, for what a func value is given goes to the heap
// and a tile is to live on the stack.
//
// mul sets dst of a tile as MulA8 documents. A function that takes codes with
// their sign may leave corr out.
// sums sets corr of up to sumRows rows, and may set that many.
// peak runs n times what mul's inner loops multiply with, on registers alone, and
// returns how many products and additions that is each time.
type tileSet struct {
	kind int
	rows int // of a tile, at most: up to tileRowsMax
}

// rowsMost is how many rows a tile may have.
func (s *Set) rowsMost() int {
	if s.tile != nil {
		return s.tile.rows
	}
	return tileRowsMax
}

func (s *Set) mul(t *tile) {
	if s.tile != nil {
		s.tile.mul(t)
	} else {
		t.mul()
	}
}

func (s *Set) sums(t *tile) {
	if s.tile != nil {
		s.tile.sums(t)
	} else {
		t.sums()
	}
}
