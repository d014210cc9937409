package kernel

import (
	"encoding/binary"
	"fmt"

	"estream/ir"
	"estream/ir/quant"
)

// packCodes writes the codes of panel p.
func (w *Matrix) packCodes(m *quant.Matrix, p int) {
	panel, cols := w.Panel(p), w.columns(p)
	for c := range PanelColumns {
		var row []int8 // none in padding: zero codes
		if c < cols {
			n := p*PanelColumns + c
			row = m.Q[n*m.K : (n+1)*m.K]
		}
		for at := 4 * c; at < len(panel); at += blockBytes {
			var low, high uint32
			if low, row = four(row); m.DType == ir.W8 {
				low ^= 0x80808080
			} else {
				high, row = four(row)
				low = low&0x0f0f0f0f | high&0x0f0f0f0f<<4 ^ 0x88888888
			}
			binary.LittleEndian.PutUint32(panel[at:], low)
		}
	}
}

// four takes the first codes of a row, zeros beyond its end, a byte each.
func four(row []int8) (codes uint32, rest []int8) {
	if len(row) >= 4 {
		return uint32(uint8(row[0])) | uint32(uint8(row[1]))<<8 | uint32(uint8(row[2]))<<16 | uint32(uint8(row[3]))<<24, row[4:]
	}
	for i, q := range row {
		codes |= uint32(uint8(q)) << (8 * i)
	}
	return codes, nil
}

// unpackCodes reads the codes of all panels; one that the encoding has not is an error.
func (w *Matrix) unpackCodes(m *quant.Matrix) error {
	for n := range m.N {
		panel, row := w.Panel(n/PanelColumns), m.Q[n*m.K:(n+1)*m.K]
		for k := range row {
			row[k] = code(panel, w.DType, n%PanelColumns, k)
			if row[k] == -128 || row[k] == -8 && w.DType != ir.W8 && !w.DType.Full() {
				return fmt.Errorf("packing host: code %d of row %d is %d, which %s has not", k, n, row[k], w.DType)
			}
		}
	}
	return nil
}

// code reads the code of column c and place k of a panel.
func code(panel []byte, d ir.DType, c, k int) int8 {
	if d == ir.W8 {
		return int8(panel[k/4*blockBytes+4*c+k%4] ^ 0x80)
	}
	return int8(panel[k/8*blockBytes+4*c+k%4]>>(k&4)&15) - 8
}

// packScales writes the scales of panel p.
func (w *Matrix) packScales(m *quant.Matrix, p int) {
	n := groups(w.DType, w.K)
	for g := range n {
		dst := w.scales(p, g)
		clear(dst[:])
		for c := range w.columns(p) {
			binary.LittleEndian.PutUint16(dst[2*c:], m.Scale[(p*PanelColumns+c)*n+g])
		}
	}
}

func (w *Matrix) unpackScales(m *quant.Matrix) {
	n := groups(w.DType, w.K)
	for i := range m.Scale {
		row, g := i/n, i%n
		m.Scale[i] = binary.LittleEndian.Uint16(w.scales(row/PanelColumns, g)[2*(row%PanelColumns):])
	}
}
