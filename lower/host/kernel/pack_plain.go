package kernel

import (
	"encoding/binary"
	"math"

	"estream/ir"
	"estream/ir/quant"
)

// packPlain writes panel p of a plain matrix, whose values are rounded already.
func (w *Matrix) packPlain(m *quant.Matrix, p int) {
	panel, size := w.panel(p), w.DType.Bits()/8
	clear(panel)
	for c := range w.columns(p) {
		n := p*PanelColumns + c
		for k, v := range m.F[n*m.K : (n+1)*m.K] {
			putPlain(panel[(k*PanelColumns+c)*size:], w.DType, v)
		}
	}
}

func (w *Matrix) unpackPlain(m *quant.Matrix) {
	size := w.DType.Bits() / 8
	for n := range m.N {
		panel, c := w.panel(n/PanelColumns), n%PanelColumns
		for k := range m.K {
			m.F[n*m.K+k] = plain(panel[(k*PanelColumns+c)*size:], w.DType)
		}
	}
}

func putPlain(dst []byte, d ir.DType, v float32) {
	switch d {
	case ir.F32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
	case ir.BF16:
		binary.LittleEndian.PutUint16(dst, quant.BF16(v))
	case ir.F16:
		binary.LittleEndian.PutUint16(dst, quant.F16(v))
	}
}

func plain(src []byte, d ir.DType) float32 {
	switch d {
	case ir.F32:
		return math.Float32frombits(binary.LittleEndian.Uint32(src))
	case ir.BF16:
		return quant.FromBF16(binary.LittleEndian.Uint16(src))
	}
	return quant.FromF16(binary.LittleEndian.Uint16(src))
}
