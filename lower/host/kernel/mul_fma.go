package kernel

import (
	"estream/ir"
	"estream/lower"
)

const (
	mulRun  = 512 // products that MulF32 sums before they are added to those before
	mulRows = 8   // of a tile: more than 8 rows of a power of two fall out of the first cache
)

// mul is MulF32 of a plain matrix.
func (f *fmaSet) mul(w *Matrix, dst []float32, stride int, x []float32, rows, from, to int) {
	t := gemm{form: formF32, panels: 1, aStride: w.K}
	switch w.DType {
	case ir.BF16:
		t.form = formBF16
	case ir.F16:
		t.form = formF16
	}
	most := min(mulRows, f.rows)
	tiles := (rows + most - 1) / most
	for p := from; p < to; p++ {
		for i := range tiles {
			r, end := i*rows/tiles, (i+1)*rows/tiles
			t.rows = end - r
			f.mulTile(t, w, p, dst[r*stride+p*PanelColumns:], stride, x[r*w.K:end*w.K])
		}
	}
}

// mulTile multiplies a few rows by panel p. A panel of fewer than 32 columns goes through a copy.
func (f *fmaSet) mulTile(t gemm, w *Matrix, p int, dst []float32, stride int, x []float32) {
	var copied [mulRows * PanelColumns]float32
	ones := [mulRows]float32{1, 1, 1, 1, 1, 1, 1, 1}
	t.c, t.cStride = dst, stride
	cols := w.columns(p)
	if cols < PanelColumns {
		t.c, t.cStride = copied[:], PanelColumns
	}
	panel := lower.F32(w.Panel(p))
	for k := 0; k < w.K; k += mulRun {
		t.k, t.a, t.b, t.fall = min(mulRun, w.K-k), x[k:], panel[k*len(panel)/w.K:], nil
		if k > 0 {
			t.fall = ones[:]
		}
		f.gemm(&t)
	}
	for r := 0; cols < PanelColumns && r < t.rows; r++ {
		copy(dst[r*stride:][:cols], copied[r*PanelColumns:])
	}
}
