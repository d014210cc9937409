package kernel

import (
	"math"

	"estream/ir"
	"estream/lower"
)

// A rowPanel is rows of a state on their way into panels, the argument of a packKeys
// function, which transposes 32 of them, and of a packValues function, which copies them.
type rowPanel struct {
	form   int // of the panel: formF32 (of f32), formBF16 (widened), formPairs
	n      int // elements of a row
	src    []byte
	at     [PanelColumns]int // where rows start in src
	next   [PanelColumns]int // where those of the next panel do, which are touched
	dst    []float32
	stride int        // words from one panel of values to the next one
	most   [16]uint32 // the largest magnitude of values, as bits, in each lane: 32 of pairs
}

// pack packs the keys and values of positions from..to-1, from a multiple of 32.
func (f *flash) pack(from, to int) {
	form, row, size := f.form(), PanelColumns/f.perWord, f.DType.Bits()/8 // row: words of values a key
	if f.DType == ir.BF16 && !f.pairs {
		form = formBF16
	}
	keys := rowPanel{form: form, n: f.D, src: f.Keys}
	values := rowPanel{form: form, n: f.Dv, src: f.Values, stride: row * flashKeys}
	f.place(&keys.next, from, to, f.D*size)
	f.place(&values.next, from, to, f.Dv*size)
	for k := from; k < to; k += PanelColumns {
		keys.at, values.at = keys.next, values.next
		f.place(&keys.next, k+PanelColumns, to, f.D*size)
		f.place(&values.next, k+PanelColumns, to, f.Dv*size)
		keys.dst = f.mem.keys[(k-f.block)*f.keySteps:]
		f.set.keys(&keys)
		values.dst = f.mem.values[(k-f.block)*row:]
		f.set.values(&values)
	}
	if f.bad = values.infinite(); f.bad {
		f.clean(from, to)
	}
}

// place sets at to where the rows of positions from k on start, size bytes a
// head. The last position stands for those behind it.
func (f *flash) place(at *[PanelColumns]int, k, to, size int) {
	for i := range at {
		at[i] = (f.seq.row(min(k+i, to-1))*f.Groups + f.group) * size
	}
}

// infinite reports whether a value is infinite or NaN.
func (p *rowPanel) infinite() bool {
	const exponent = 0x7f80
	for _, m := range p.most {
		if m>>16 >= exponent || p.form == formPairs && m&0xffff >= exponent {
			return true
		}
	}
	return false
}

// clean makes values zero that are infinite or NaN, and notes their keys: times a
// weight of zero, they would reach queries that do not see them.
func (f *flash) clean(from, to int) {
	f.nan = [flashKeys]bool{}
	size := f.DType.Bits() / 8
	for k := from; k < roundUp(to, PanelColumns); k++ {
		at := (f.seq.row(min(k, to-1))*f.Groups + f.group) * f.Dv * size
		for d := range f.Dv {
			v := loadPlain(f.Values[at+d*size:], f.DType)
			if v-v == 0 {
				continue
			}
			f.nan[k-f.block] = true
			f.drop(k-f.block, d)
		}
	}
}

// drop makes value d of a key of the block zero.
func (f *flash) drop(key, d int) {
	row := d/PanelColumns*(flashKeys/f.perWord) + key/f.perWord
	w := &f.mem.values[row*PanelColumns+d%PanelColumns]
	if f.pairs {
		*w = math.Float32frombits(math.Float32bits(*w) &^ (0xffff << (16 * (key % 2))))
	} else {
		*w = 0
	}
}

// keys packs 32 keys.
func (s *fmaSet) keys(p *rowPanel) {
	s.packKeys(p)
	for d := s.whole(p.n); d < p.n; d++ {
		for i, at := range p.at {
			p.dst[d*PanelColumns+i] = p.load(at, d)
		}
	}
}

// values packs the values of 32 keys.
func (s *fmaSet) values(p *rowPanel) {
	s.packValues(p)
	for d := s.whole(p.n); d < p.n; d++ {
		dst := p.dst[d/PanelColumns*p.stride+d%PanelColumns:]
		for i, at := range p.at {
			v := p.load(at, d)
			dst[i*PanelColumns] = v
			p.most[0] = max(p.most[0], math.Float32bits(v)&^(1<<31))
		}
	}
}

// whole is how many of n elements of a row the set's functions take.
func (s *fmaSet) whole(n int) int {
	if s.masks {
		return n
	}
	return n / s.lanes * s.lanes
}

// load returns element d of the row that starts at a place.
func (p *rowPanel) load(at, d int) float32 {
	if p.form == formBF16 {
		return loadPlain(p.src[at+2*d:], ir.BF16)
	}
	return loadPlain(p.src[at+4*d:], ir.F32)
}

func loadPlain(b []byte, d ir.DType) float32 {
	var v [1]float32
	lower.Decode(v[:], b[:d.Bits()/8], d)
	return v[0]
}
