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

// ScatterAdd adds columns from..to-1 of row i of x [len(rows),n], times w[i]
// where w is not nil, to those of row rows[i] of y [T,n], i ascending. A row
// that y has not is an error, found before anything is added.
func (s *Set) ScatterAdd(y, x []float32, n int, rows []int32, w []float32, from, to int) error {
	for _, r := range rows {
		if r < 0 || (int(r)+1)*n > len(y) {
			return fmt.Errorf("scatter_add: row %d of %d", r, len(y)/n)
		}
	}
	if s.vec != nil {
		s.vec.scatterAdd(y, x, n, rows, w, from, to)
		return nil
	}
	for i, r := range rows {
		src, dst := x[i*n+from:i*n+to], y[int(r)*n+from:int(r)*n+to]
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

func (v *vecSet) scatterAdd(y, x []float32, n int, rows []int32, w []float32, from, to int) {
	if len(rows) == 0 || from == to {
		return
	}
	one, step := [1]float32{1}, 4
	if w == nil {
		w, step = one[:], 0
	} else {
		w = w[:len(rows)]
	}
	v.rowwise(vecScatterAdd, &vecArgs{
		dst: y[from:], x: x[from : len(rows)*n], y: w, index: rows, n: to - from, rows: len(rows),
		xStride: 4 * n, yStride: step, indexStride: 4 * n,
	})
}

// CopyColumns copies n values of each of the rows whose starts are dstStride and
// srcStride apart: slice and concat.
func CopyColumns(dst []float32, dstStride int, src []float32, srcStride, n, rows int) {
	for r := range rows {
		copy(dst[r*dstStride:r*dstStride+n], src[r*srcStride:r*srcStride+n])
	}
}
