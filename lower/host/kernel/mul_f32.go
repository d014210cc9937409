package kernel

import (
	"encoding/binary"
	"math"

	"estream/ir"
)

const (
	tileRows = 8  // rows that share what is decoded of a panel
	tileK    = 64 // how much of K is decoded at once
)

// MulF32 multiplies x [rows,K] by panels from..to-1 of w: for each row r and each
// column n of those panels, dst[r*stride+n] is the sum over k, ascending, of
// x[r,k] times the logical value w[n,k]. dst must not overlap x.
//
// In plain Go, and of encodings, products and sums are float64, rounded once, so
// it judges other kernels as well. Assembly sums runs of mulRun products in f32,
// and then these.
func (s *Set) MulF32(w *Matrix, dst []float32, stride int, x []float32, rows, from, to int) {
	if s.fma != nil && !w.DType.Encoded() {
		s.fma.mul(w, dst, stride, x, rows, from, to)
	} else {
		w.mul(dst, stride, x, rows, from, to)
	}
}

func (w *Matrix) mul(dst []float32, stride int, x []float32, rows, from, to int) {
	var tile [tileK][PanelColumns]float64
	var sums [tileRows][PanelColumns]float64
	for p := from; p < to; p++ {
		panel, cols := w.Panel(p), w.columns(p)
		for r0 := 0; r0 < rows; r0 += tileRows {
			sums := sums[:min(tileRows, rows-r0)]
			clear(sums)
			for k := 0; k < w.K; k += tileK {
				n := min(tileK, w.K-k)
				w.decode(tile[:n], panel, p, k)
				for r := range sums {
					at := (r0+r)*w.K + k
					mulTile(&sums[r], x[at:at+n], tile[:n])
				}
			}
			for r := range sums {
				out := dst[(r0+r)*stride+p*PanelColumns:][:cols]
				for c := range out {
					out[c] = float32(sums[r][c])
				}
			}
		}
	}
}

// mulTile adds x times tile to sums, four columns at a time.
func mulTile(sums *[PanelColumns]float64, x []float32, tile [][PanelColumns]float64) {
	x = x[:len(tile)]
	for c := 0; c < PanelColumns; c += 4 {
		s := (*[4]float64)(sums[c:])
		s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
		for k := range tile {
			v, t := float64(x[k]), (*[4]float64)(tile[k][c&28:])
			s0 += t[0] * v
			s1 += t[1] * v
			s2 += t[2] * v
			s3 += t[3] * v
		}
		*s = [4]float64{s0, s1, s2, s3}
	}
}

// decode sets tile to the logical values of panel p from place k on.
func (w *Matrix) decode(tile [][PanelColumns]float64, panel []byte, p, k int) {
	switch w.DType {
	case ir.F32:
		for i := range tile {
			src := (*[4 * PanelColumns]byte)(panel[(k+i)*4*PanelColumns:])
			for c := range tile[i] {
				tile[i][c] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*c:])))
			}
		}
	case ir.BF16, ir.F16:
		for i := range tile {
			decode16(&tile[i], (*[2 * PanelColumns]byte)(panel[(k+i)*2*PanelColumns:]), w.DType)
		}
	default:
		w.decodeCodes(tile, panel, p, k)
	}
}

func decode16(dst *[PanelColumns]float64, src *[2 * PanelColumns]byte, d ir.DType) {
	for c := range dst {
		h := binary.LittleEndian.Uint16(src[2*c:])
		if d == ir.BF16 {
			dst[c] = float64(math.Float32frombits(uint32(h) << 16))
		} else {
			dst[c] = float64(half(h))
		}
	}
}

func (w *Matrix) decodeCodes(tile [][PanelColumns]float64, panel []byte, p, k int) {
	var scales [PanelColumns]float64
	group, step := w.DType.Group(w.K), kStep(w.DType)
	for i := range tile {
		if i == 0 || (k+i)%group == 0 {
			decode16(&scales, w.scales(p, (k+i)/group), ir.F16)
			for c := range scales {
				scales[c] *= float64(w.Factor)
			}
		}
		at := k + i
		shift, mask, zero := at&4, byte(15), 8
		if w.DType == ir.W8 {
			shift, mask, zero = 0, 255, 128
		}
		src := (*[blockBytes - 3]byte)(panel[at/step*blockBytes+at%4:])
		for c := range tile[i] {
			tile[i][c] = float64(int(src[4*c]>>shift&mask)-zero) * scales[c]
		}
	}
}

// half returns the value of finite half-precision bits: moved to where f32 has
// its exponent and mantissa, they are 2^-112 of it.
func half(h uint16) float32 {
	v := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | uint32(h&0x8000)<<16)
}
