package models

import (
	"context"

	"estream/models/checkpoint"
)

// chunk is about how many elements of a transposed tensor are read at once.
const chunk = 1 << 18

// A view is a weight of rows x width as its Source finds it in a tensor.
type view struct {
	ckpt        checkpoint.Checkpoint
	name        string
	source      Source
	expert      int
	rows, width int
}

func (v view) read(ctx context.Context, row, rows int, dst []float32) error {
	first := v.source.Part*v.rows + row
	all := v.rows * max(1, v.source.Parts)
	switch {
	case v.source.Stacked && !v.source.Transpose && rows == all:
		return v.ckpt.Read(ctx, v.name, v.expert, 1, dst)
	case v.source.Stacked:
		matrix := make([]float32, all*v.width)
		if err := v.ckpt.Read(ctx, v.name, v.expert, 1, matrix); err != nil {
			return err
		}
		if v.source.Transpose {
			transpose(dst, v.width, 0, matrix, all, first)
		} else {
			copy(dst, matrix[first*v.width:])
		}
		return nil
	case v.source.Transpose:
		return v.readTransposed(ctx, first, all, dst)
	}
	return v.ckpt.Read(ctx, v.name, first, rows, dst)
}

// readTransposed reads rows first... of a tensor [width,all] that holds them as columns.
func (v view) readTransposed(ctx context.Context, first, all int, dst []float32) error {
	step := max(1, chunk/all)
	buf := make([]float32, min(step, v.width)*all)
	for k := 0; k < v.width; k += step {
		n := min(step, v.width-k)
		if err := v.ckpt.Read(ctx, v.name, k, n, buf[:n*all]); err != nil {
			return err
		}
		transpose(dst, v.width, k, buf[:n*all], all, first)
	}
	return nil
}

// transpose fills columns k, k+1, ... of dst [rows,width] from the rows of src
// [n,all], in each of which the first of dst's rows is element first.
func transpose(dst []float32, width, k int, src []float32, all, first int) {
	rows := len(dst) / width
	for ; len(src) > 0; src, k = src[all:], k+1 {
		for r := range rows {
			dst[r*width+k] = src[first+r]
		}
	}
}
