package gguf

import (
	"context"
	"fmt"
	"strings"

	"estream/models/checkpoint"
)

// A latent is a matrix [H*(N+V),C] that DeepSeek's converter takes apart: of each head the first N rows, transposed, are
// a matrix of keys [H,C,N], the others one of values [H,V,C]. The model reads as if it were whole, as older files have it.
type latent struct{ keys, values place }

const (
	wholeLatent = ".attn_kv_b.weight"
	keysLatent  = ".attn_k_b.weight"
	valueLatent = ".attn_v_b.weight"
)

// joinLatents puts the whole matrices in place of their halves.
func (m *model) joinLatents() {
	var tensors []checkpoint.Tensor
	for _, t := range m.tensors {
		block, isKeys := strings.CutSuffix(t.Name, keysLatent)
		isHalf := isKeys
		if !isKeys {
			block, isHalf = strings.CutSuffix(t.Name, valueLatent)
		}
		l := latent{m.at[block+keysLatent], m.at[block+valueLatent]}
		if _, whole := m.at[block+wholeLatent]; !isHalf || whole || !l.fits() {
			tensors = append(tensors, t)
		} else if isKeys {
			whole := l.tensor(block + wholeLatent)
			m.latents[whole.Name] = l
			tensors = append(tensors, whole)
		}
	}
	m.tensors = tensors
}

// fits reports whether both halves are there and are of one matrix.
func (l latent) fits() bool {
	k, v := l.keys.Shape, l.values.Shape
	return len(k) == 3 && len(v) == 3 && k[0] == v[0] && k[1] == v[2]
}

func (l latent) tensor(name string) checkpoint.Tensor {
	k, v := l.keys.Tensor, l.values.Tensor
	t := checkpoint.Tensor{Name: name, DType: k.DType, Shape: []int{k.Shape[0] * (k.Shape[2] + v.Shape[1]), k.Shape[1]}, Bytes: k.Bytes + v.Bytes, Opaque: k.Opaque}
	if v.DType != k.DType {
		t.DType = "F32" // which holds both
	}
	if v.Opaque != "" {
		t.Opaque = v.Opaque
	}
	return t
}

// readLatent reads rows, those of a head together.
func (m *model) readLatent(ctx context.Context, l latent, row, rows int, dst []float32) error {
	n, values, c := l.keys.Shape[2], l.values.Shape[1], l.keys.Shape[1]
	if _, err := checkpoint.Span([]int{l.keys.Shape[0] * (n + values), c}, row, rows, len(dst)); err != nil {
		return fmt.Errorf("%s: tensors %.80q and %.80q: %w", l.keys.file.path, l.keys.Name, l.values.Name, err)
	}
	keys := make([]float32, c*n)
	for end := row + rows; row < end; {
		head, at := row/(n+values), row%(n+values)
		step := min(end-row, n+values-at)
		if at < n {
			step = min(step, n-at)
			if err := m.Read(ctx, l.keys.Name, head, 1, keys); err != nil {
				return err
			}
			for i := range step * c {
				dst[i] = keys[i%c*n+at+i/c]
			}
		} else if err := m.readAt(ctx, l.values, (int64(head)*int64(values)+int64(at-n))*int64(c), dst[:step*c]); err != nil {
			return err
		}
		row, dst = row+step, dst[step*c:]
	}
	return nil
}
