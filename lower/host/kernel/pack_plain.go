package kernel

import (
	"estream/ir/quant"
	"estream/lower"
)

// packPlain writes panel p of a plain matrix, whose columns are the rows of m: they
// are rounded already.
func (w *Matrix) packPlain(m *quant.Matrix, p int) {
	panel, size := w.Panel(p), w.DType.Bits()/8
	clear(panel)
	row := make([]byte, m.K*size)
	for c := range m.N {
		lower.Encode(row, m.F[c*m.K:(c+1)*m.K], w.DType)
		for k := range m.K {
			copy(panel[(k*PanelColumns+c)*size:], row[k*size:(k+1)*size])
		}
	}
}

func (w *Matrix) unpackPlain(m *quant.Matrix) {
	size := w.DType.Bits() / 8
	row := make([]byte, m.K*size)
	for n := range m.N {
		panel, c := w.Panel(n/PanelColumns), n%PanelColumns
		for k := range m.K {
			copy(row[k*size:(k+1)*size], panel[(k*PanelColumns+c)*size:])
		}
		lower.Decode(m.F[n*m.K:(n+1)*m.K], row, w.DType)
	}
}
