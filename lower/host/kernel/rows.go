package kernel

import "fmt"

// GatherRows copies rows of size bytes: row i of dst is row rows[i] of src. A row
// that src has not is an error.
func GatherRows(dst, src []byte, rows []int32, size int) error {
	for i, r := range rows {
		if r < 0 || (int(r)+1)*size > len(src) {
			return fmt.Errorf("gather_rows: row %d of %d", r, len(src)/size)
		}
		copy(dst[i*size:(i+1)*size], src[int(r)*size:])
	}
	return nil
}

// ScaleRows multiplies row r of x [len(w),K] by w[r]. dst may be x.
func (s *Set) ScaleRows(dst, x, w []float32) {
	if len(w) > 0 {
		s.Apply(Mul, dst, x, w, len(x)/len(w), Column)
	}
}

// ScatterAdd adds row i of x, n values, times w[i] where w is not nil, to row
// rows[i] of y, i ascending. Rows of y and x are stride and xStride apart. A row
// that y has not is an error, found before anything is added.
func (s *Set) ScatterAdd(y []float32, stride int, x []float32, xStride, n int, rows []int32, w []float32) error {
	for _, r := range rows {
		if r < 0 || int(r)*stride+n > len(y) {
			return fmt.Errorf("scatter_add: row %d of %d", r, (len(y)+stride-1)/stride)
		}
	}
	if s.vec != nil {
		s.vec.scatterAdd(y, stride, x, xStride, n, rows, w)
		return nil
	}
	for i, r := range rows {
		src, dst := x[i*xStride:i*xStride+n], y[int(r)*stride:int(r)*stride+n]
		c := float32(1)
		if w != nil {
			c = w[i]
		}
		for j, v := range src {
			dst[j] += float32(c * v)
		}
	}
	return nil
}

func (v *vecSet) scatterAdd(y []float32, stride int, x []float32, xStride, n int, rows []int32, w []float32) {
	if len(rows) == 0 || n == 0 {
		return
	}
	one, step := [1]float32{1}, 4
	if w == nil {
		w, step = one[:], 0
	} else {
		w = w[:len(rows)]
	}
	last := len(rows) - 1
	a := vecArgs{dst: y, x: x[:last*xStride+n], y: w, index: rows, n: n, rows: last, xStride: 4 * xStride, yStride: step, indexStride: 4 * stride}
	v.rowwise(vecScatterAhead, &a)
	a.x, a.y, a.index, a.rows = x[last*xStride:], w[len(w)-1:], rows[last:], 1
	v.rowwise(vecScatterAdd, &a)
}

// CopyColumns copies n values of each of the rows whose starts are dstStride and
// srcStride apart: slice and concat.
func CopyColumns(dst []float32, dstStride int, src []float32, srcStride, n, rows int) {
	for r := range rows {
		copy(dst[r*dstStride:r*dstStride+n], src[r*srcStride:r*srcStride+n])
	}
}
