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
	head        int // rows of a head
}

func (v view) read(ctx context.Context, row, rows int, dst block) error {
	first := v.source.Part*v.rows + row
	all := v.rows * max(1, v.source.Parts)
	switch {
	case v.source.Stacked && !v.source.Transpose && rows == all:
		return v.load(ctx, v.expert, 1, dst)
	case v.source.Stacked:
		matrix := dst.like(all * v.width)
		if err := v.load(ctx, v.expert, 1, matrix); err != nil {
			return err
		}
		if v.source.Transpose {
			transpose(dst.values, v.width, 0, matrix.values, all, first)
		} else {
			dst.copy(matrix.part(first*v.width, (first+rows)*v.width))
		}
		return nil
	case v.source.Transpose:
		return v.readTransposed(ctx, first, all, dst.values)
	case v.source.Interleaved:
		return v.readInterleaved(ctx, first, rows, dst)
	}
	return v.load(ctx, first, rows, dst)
}

// load reads rows of the tensor as they are.
func (v view) load(ctx context.Context, row, rows int, dst block) error {
	if dst.codes != nil {
		return v.ckpt.(checkpoint.Coder).ReadCodes(ctx, v.name, row, rows, dst.codes, dst.scales)
	}
	return v.ckpt.Read(ctx, v.name, row, rows, dst.values)
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

// readInterleaved reads rows of a tensor that has row j*head/2+i of each head, j
// being 0 or 1, at 2*i+j.
func (v view) readInterleaved(ctx context.Context, first, rows int, dst block) error {
	head := dst.like(v.head * v.width)
	for at := first - first%v.head; at < first+rows; at += v.head {
		if err := v.load(ctx, at, v.head, head); err != nil {
			return err
		}
		for r := max(at, first); r < min(at+v.head, first+rows); r++ {
			stored := (r-at)%(v.head/2)*2 + (r-at)/(v.head/2)
			dst.part((r-first)*v.width, (r-first+1)*v.width).copy(head.part(stored*v.width, (stored+1)*v.width))
		}
	}
	return nil
}

// A block is rows of a weight: values, or codes with a scale for each group.
type block struct {
	values []float32
	codes  []int8
	scales []uint16
}

func (b block) len() int { return len(b.values) + len(b.codes) }

// like makes a block of n elements.
func (b block) like(n int) block {
	if b.codes == nil {
		return block{values: make([]float32, n)}
	}
	return block{codes: make([]int8, n), scales: make([]uint16, n/b.group())}
}

func (b block) group() int { return len(b.codes) / len(b.scales) }

// part is elements from..to-1 of a block: whole groups.
func (b block) part(from, to int) block {
	if b.codes == nil {
		return block{values: b.values[from:to]}
	}
	return block{codes: b.codes[from:to], scales: b.scales[from/b.group() : to/b.group()]}
}

func (b block) copy(from block) {
	copy(b.values, from.values)
	copy(b.codes, from.codes)
	copy(b.scales, from.scales)
}
