package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// RuleScales is of codes: their scales have the shape that the tensor and its blocks give.
const RuleScales Rule = "scales"

// maxBlock bounds the rows and columns that share a scale.
const maxBlock = 1 << 20

// A scaling says which scale an element of a tensor [...,N,K] is to be multiplied by. A scale is a block's of each
// matrix [N,K], a row's, a matrix's or the tensor's: each is a block of some size.
type scaling struct {
	at           place
	n, k         int // extents of a matrix
	rows, cols   int // of a block
	down, across int // blocks of a matrix
}

// findScales finds the scales of 8-bit floats, and says what becomes of them and of codes without.
func (s *safeTensors) findScales() error {
	s.scales = map[string]scaling{}
	block := [2]int{128, 128} // as published models have them
	if s.home.has(configName) {
		text, err := s.home.read(configName, maxConfig)
		if q := quantizationOf(text); err == nil && len(q.Block) > 0 {
			if len(q.Block) != 2 || min(q.Block[0], q.Block[1]) < 1 || max(q.Block[0], q.Block[1]) > maxBlock {
				return fmt.Errorf("%s: weight_block_size is %.80s: want two sizes from 1 to %d", s.home.Path(configName), fmt.Sprint(q.Block), maxBlock)
			}
			block = [2]int(q.Block)
		}
	}
	asides := map[string]string{}
	for i := range s.tensors {
		t := &s.tensors[i]
		if t.DType.Exact() {
			continue
		}
		t.Opaque = "codes, whose scales are not applied; " + instead
		for _, suffix := range []string{"_scale_inv", "_scale"} {
			at, found := s.at[t.Name+suffix]
			if !found || !strings.HasPrefix(string(t.DType), "F8_E") || t.DType == "F8_E8M0" {
				continue
			}
			x, err := scalingOf(*t, at, block)
			if err != nil {
				return err
			}
			s.scales[t.Name], asides[at.Name], t.Opaque = x, "scales that are applied", ""
			break
		}
	}
	for i, t := range s.tensors {
		s.tensors[i].Aside = asides[t.Name]
		if ofActivations(t) {
			s.tensors[i].Aside = "scales of activations, which are not rounded so here"
		}
	}
	return nil
}

// ofActivations reports whether a tensor is one scale of what a layer or the cache takes.
func ofActivations(t Tensor) bool {
	n, _ := elements(t.Shape)
	last := t.Name[strings.LastIndex(t.Name, ".")+1:]
	return n == 1 && slices.Contains([]string{"input_scale", "output_scale", "q_scale", "k_scale", "v_scale"}, last)
}

// scalingOf finds what the scales at are of from their shape. That is certain: a tensor and a size of blocks give each
// kind a shape of its own, or kinds of one shape mean the same.
func scalingOf(t Tensor, at place, block [2]int) (scaling, error) {
	fail := func(format string, args ...any) (scaling, error) {
		return scaling{}, &FormatError{File: at.shard.Path, Tensor: at.Name, Rule: RuleScales, Detail: fmt.Sprintf(format, args...)}
	}
	if !at.DType.Exact() && at.DType != "F8_E8M0" {
		return fail("of type %s, want a float", at.DType)
	}
	all, _ := elements(t.Shape)
	count, _ := elements(at.Shape)
	shape := at.Shape
	at.Shape = []int{int(count)}
	if count == 1 || all == 0 {
		k := 1
		if len(t.Shape) > 1 {
			k = max(1, t.Shape[len(t.Shape)-1])
		}
		return scaling{at, max(1, int(all)/k), k, max(1, int(all)/k), k, 1, 1}, nil
	}
	if len(t.Shape) < 2 {
		return fail("%v for %v, want one", shape, t.Shape)
	}
	matrices, n, k := t.Shape[:len(t.Shape)-2], t.Shape[len(t.Shape)-2], t.Shape[len(t.Shape)-1]
	ceil := func(a, b int) int { return (a + b - 1) / b }
	blocks := []int{ceil(n, block[0]), ceil(k, block[1])}
	for _, kind := range []struct {
		shape      []int // beyond that of matrices
		rows, cols int
	}{
		{blocks, block[0], block[1]},
		{[]int{n, 1}, 1, k}, {[]int{n}, 1, k},
		{[]int{1, 1}, n, k}, {nil, n, k},
	} {
		if slices.Equal(shape, slices.Concat(matrices, kind.shape)) {
			return scaling{at, n, k, kind.rows, kind.cols, ceil(n, kind.rows), ceil(k, kind.cols)}, nil
		}
	}
	return fail("%v for %v, want %v in blocks of %v, or one for each row or for all", shape, t.Shape, slices.Concat(matrices, blocks), block)
}

// scale multiplies values of the tensor that has scales x, from element first on, which begins a row.
func (s *safeTensors) scale(ctx context.Context, x scaling, first int64, dst []float32) error {
	scales, last := make([]float32, x.across), -1
	for row := int(first) / x.k; len(dst) > 0; row++ {
		if at := row/x.n*x.down + row%x.n/x.rows; at != last {
			if err := s.read(ctx, x.at, at*x.across, x.across, scales); err != nil {
				return err
			}
			last = at
		}
		for i, by := range scales {
			part := dst[i*x.cols : min((i+1)*x.cols, x.k)]
			for j := range part {
				part[j] *= by
			}
		}
		dst = dst[x.k:]
	}
	return nil
}
