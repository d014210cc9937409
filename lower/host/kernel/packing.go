package kernel

import (
	"fmt"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// Packing is how the host's kernels read a matrix [N,K], on every instruction
// set: panels of 32 output columns by all K, one after another, N padded to 32
// and K to the step of a block with zero codes; then, of encodings, the f16
// scales [panel][K/g][32], zero in padded columns. Factor is not stored.
//
//	f32, f16, bf16  panel [K][32]
//	w8              panel [K/4][2][64]: byte j of block [s][h] is column 16h + j/4, k = 4s + j%4, as q + 128
//	w4*             panel [K/8][2][64]: byte j of block [s][h] is column 16h + j/4, k = 8s + j%4 in the low
//	                four bits and k + 4 in the high ones, as q + 8
//
// So the four bytes at 128s + 4c of a panel of an encoding are column c's.
var Packing = lower.Packing{Name: "host", Size: packedSize, Pack: pack, Unpack: unpack}

// maxK is the longest row of an encoding: the largest sum of codes with their
// zero point times int8 is then below 1<<31.
const maxK = 1 << 16

func packedSize(t ir.Type) (int64, error) {
	d := t.DType
	if !d.Float() && !d.Encoded() || t.Rank() != 2 {
		return 0, fmt.Errorf("packing host: type %s is no matrix of weights", t)
	}
	n, k := t.Dims[0], t.Dims[1]
	if n.Sym != "" || k.Sym != "" || n.N <= 0 || k.N <= 0 || n.N > 1<<31 || k.N > 1<<31 {
		return 0, fmt.Errorf("packing host: type %s has no size", t)
	}
	if d.Encoded() && (k.N%d.Group(k.N) != 0 || k.N > maxK) {
		return 0, fmt.Errorf("packing host: type %s: rows must be whole groups and at most %d long", t, maxK)
	}
	if n.N > 1<<44/k.N {
		return 0, fmt.Errorf("packing host: type %s is too large", t)
	}
	return int64(panels(n.N)) * int64(panelBytes(d, k.N)+groups(d, k.N)*scaleBytes), nil
}

// view returns the matrix that packs as t, checked against the bytes it is given.
func view(t ir.Type, data []byte) (*Matrix, error) {
	size, err := packedSize(t)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != size {
		return nil, fmt.Errorf("packing host: type %s takes %d bytes, not %d", t, size, len(data))
	}
	return &Matrix{DType: t.DType, N: t.Dims[0].N, K: t.Dims[1].N, Data: data, Factor: 1}, nil
}

func pack(dst []byte, m *quant.Matrix) error {
	w, err := view(ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K)), dst)
	if err != nil {
		return err
	}
	for p := range w.Panels() {
		at, cols := p*PanelColumns, w.columns(p)
		rows := quant.Matrix{DType: m.DType, N: cols, K: m.K, Factor: 1}
		if m.DType.Encoded() {
			n := groups(m.DType, m.K)
			rows.Q, rows.Scale = m.Q[at*m.K:(at+cols)*m.K], m.Scale[at*n:(at+cols)*n]
		} else {
			rows.F = m.F[at*m.K : (at+cols)*m.K]
		}
		w.PackPanel(&rows, p)
	}
	return nil
}

// PackPanel writes panel p, whose columns are the rows of m.
func (w *Matrix) PackPanel(m *quant.Matrix, p int) {
	if m.DType.Encoded() {
		w.packCodes(m, p)
		w.packScales(m, p)
	} else {
		w.packPlain(m, p)
	}
}

func unpack(src []byte, t ir.Type) (*quant.Matrix, error) {
	w, err := view(t, src)
	if err != nil {
		return nil, err
	}
	m := &quant.Matrix{DType: w.DType, N: w.N, K: w.K, Factor: 1}
	if !w.DType.Encoded() {
		m.F = make([]float32, w.N*w.K)
		w.unpackPlain(m)
		return m, nil
	}
	m.Q, m.Scale = make([]int8, w.N*w.K), make([]uint16, w.N*groups(w.DType, w.K))
	w.unpackScales(m)
	return m, w.unpackCodes(m)
}
