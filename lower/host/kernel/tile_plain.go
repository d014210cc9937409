package kernel

import (
	"encoding/binary"
	"math"
)

// mul sets dst in plain Go, as MulA8 documents.
func (t *tile) mul() {
	var acc [tileRowsMax][PanelColumns]float32
	for g := range t.segments {
		t.addSegment(acc[:t.rows], g)
	}
	for r := range t.rows {
		scale := float32(1)
		if t.perBlock == 0 {
			scale = t.rowScale(r, 0)
		}
		out := t.dst[r*t.dstStride/4:][:PanelColumns]
		for c := range out {
			out[c] = acc[r][c] * scale * t.factor
		}
	}
}

// addSegment adds segment g of each row.
func (t *tile) addSegment(acc [][PanelColumns]float32, g int) {
	var scales [PanelColumns]float32
	for c := range scales {
		scales[c] = half(binary.LittleEndian.Uint16(t.scales[g*t.next+2*c:]))
	}
	codes := t.codes[g*t.steps*blockBytes:][:t.steps*blockBytes]
	for r := range acc {
		x, corr, block := t.x[r*t.stride+g*t.segment:][:t.segment], t.corr[g*t.corrStride/4+r], float32(1)
		if t.perBlock != 0 {
			block = t.rowScale(r, g/t.perBlock)
		}
		for c := 0; c < PanelColumns; c += 8 {
			a, s := (*[8]float32)(acc[r][c:]), (*[8]float32)(scales[c:])
			for i, pair := range dot(codes[4*c:], x, t.zero == 128) {
				lo := int32(pair)
				hi := int32((pair - uint64(lo)) >> 32)
				a[2*i] += float32(float32(lo+corr) * s[2*i] * block)
				a[2*i+1] += float32(float32(hi+corr) * s[2*i+1] * block)
			}
		}
	}
}

// rowScale returns scale b of row r.
func (t *tile) rowScale(r, b int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(t.x[r*t.stride+t.scaleAt+4*b:]))
}

// sums sets corr. Past K codes are zero points, and so x may be anything there
// as long as it is counted here.
func (t *tile) sums() {
	for r := range t.rows {
		for g := range t.segments {
			sum := int32(0)
			for _, v := range t.x[r*t.stride+g*t.segment:][:t.segment] {
				sum += int32(int8(v))
			}
			t.corr[g*t.corrStride/4+r] = -sum * int32(t.zero)
		}
	}
}

func dot(codes, x []byte, w8 bool) [4]uint64 {
	if w8 {
		return dotW8(codes, x)
	}
	return dotW4(codes, x)
}

// dotW4 returns the sums of x times the codes of eight columns, q + 8, in pairs:
// column 2i's plus 1<<32 times column 2i+1's. A 64-bit word holds two columns'
// codes of eight k; shifted and masked, it is two codes 32 bits apart, and times
// x two products, whose sums meet only in a borrow.
func dotW4(codes, x []byte) [4]uint64 {
	const mask = 0x0000000f_0000000f
	var a, b, c, d uint64
	for at := 0; len(x) >= 8; at += blockBytes {
		w := (*[32]byte)(codes[at:])
		w0, w1 := binary.LittleEndian.Uint64(w[0:]), binary.LittleEndian.Uint64(w[8:])
		w2, w3 := binary.LittleEndian.Uint64(w[16:]), binary.LittleEndian.Uint64(w[24:])
		x0, x1, x2, x3 := uint64(int8(x[0])), uint64(int8(x[1])), uint64(int8(x[2])), uint64(int8(x[3]))
		a += times(w0, mask, x0, x1, x2, x3)
		b += times(w1, mask, x0, x1, x2, x3)
		c += times(w2, mask, x0, x1, x2, x3)
		d += times(w3, mask, x0, x1, x2, x3)
		x0, x1, x2, x3 = uint64(int8(x[4])), uint64(int8(x[5])), uint64(int8(x[6])), uint64(int8(x[7]))
		a += times(w0>>4, mask, x0, x1, x2, x3)
		b += times(w1>>4, mask, x0, x1, x2, x3)
		c += times(w2>>4, mask, x0, x1, x2, x3)
		d += times(w3>>4, mask, x0, x1, x2, x3)
		x = x[8:]
	}
	return [4]uint64{a, b, c, d}
}

// dotW8 is dotW4 for codes of a byte, q + 128, four k to a word.
func dotW8(codes, x []byte) [4]uint64 {
	const mask = 0x000000ff_000000ff
	var a, b, c, d uint64
	for at := 0; len(x) >= 4; at += blockBytes {
		w := (*[32]byte)(codes[at:])
		x0, x1, x2, x3 := uint64(int8(x[0])), uint64(int8(x[1])), uint64(int8(x[2])), uint64(int8(x[3]))
		a += times(binary.LittleEndian.Uint64(w[0:]), mask, x0, x1, x2, x3)
		b += times(binary.LittleEndian.Uint64(w[8:]), mask, x0, x1, x2, x3)
		c += times(binary.LittleEndian.Uint64(w[16:]), mask, x0, x1, x2, x3)
		d += times(binary.LittleEndian.Uint64(w[24:]), mask, x0, x1, x2, x3)
		x = x[4:]
	}
	return [4]uint64{a, b, c, d}
}

// times adds up the products of four x with the codes that stand 8 bits apart.
func times(w, mask, x0, x1, x2, x3 uint64) uint64 {
	return (w&mask)*x0 + (w>>8&mask)*x1 + (w>>16&mask)*x2 + (w>>24&mask)*x3
}
