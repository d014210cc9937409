package kernel

import (
	"encoding/binary"
	"fmt"

	"estream/ir"
	"estream/ir/quant"
)

// packCodes writes the codes of panel p, whose columns are the rows of m.
func (w *Matrix) packCodes(m *quant.Matrix, p int) {
	panel := w.Panel(p)
	for c := range PanelColumns {
		var row []int8 // none in padding: zero codes
		if c < m.N {
			row = m.Q[c*m.K : (c+1)*m.K]
		}
		if m.DType == ir.W8 {
			packBytes(panel[4*c:], row)
		} else {
			packHalves(panel[4*c:], row)
		}
	}
}

// packBytes writes the codes of a column in w8, four to a block.
func packBytes(dst []byte, row []int8) {
	for at := 0; at < len(dst); at += blockBytes {
		var codes uint32
		codes, row = four(row)
		binary.LittleEndian.PutUint32(dst[at:], codes^0x80808080)
	}
}

// packHalves writes the codes of a column in int4, eight to a block.
func packHalves(dst []byte, row []int8) {
	at := 0
	for ; len(row) >= 8; row = row[8:] {
		q := (*[8]int8)(row)
		low := uint32(uint8(q[0])) | uint32(uint8(q[1]))<<8 | uint32(uint8(q[2]))<<16 | uint32(uint8(q[3]))<<24
		high := uint32(uint8(q[4])) | uint32(uint8(q[5]))<<8 | uint32(uint8(q[6]))<<16 | uint32(uint8(q[7]))<<24
		binary.LittleEndian.PutUint32(dst[at:], low&0x0f0f0f0f|high&0x0f0f0f0f<<4^0x88888888)
		at += blockBytes
	}
	for ; at < len(dst); at += blockBytes { // padding
		binary.LittleEndian.PutUint32(dst[at:], 0x88888888)
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

// packScales writes the scales of panel p, whose columns are the rows of m.
func (w *Matrix) packScales(m *quant.Matrix, p int) {
	n := groups(w.DType, w.K)
	for g := range n {
		dst := w.scales(p, g)
		clear(dst[:])
		for c := range m.N {
			binary.LittleEndian.PutUint16(dst[2*c:], m.Scale[c*n+g])
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
