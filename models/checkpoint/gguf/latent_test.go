package gguf_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint/checkpointtest"
)

// A matrix of 2 heads of 3 rows of keys and 2 of values, taken apart, reads as the whole, by any rows.
func TestLatent(t *testing.T) {
	const heads, n, v, c = 2, 3, 2, 4
	var whole, keys, values []float32
	for i := range heads * (n + v) * c {
		whole = append(whole, float32(i))
	}
	for h := range heads {
		matrix := whole[h*(n+v)*c:]
		for col := range c {
			for row := range n {
				keys = append(keys, matrix[row*c+col])
			}
		}
		values = append(values, matrix[n*c:(n+v)*c]...)
	}
	k := checkpointtest.StoredF32("blk.3.attn_k_b.weight", []int{heads, c, n}, keys...)
	x := checkpointtest.StoredF32("blk.3.attn_v_b.weight", []int{heads, v, c}, values...)
	other := checkpointtest.StoredF32("blk.4.attn_k_b.weight", []int{heads, c, n}, keys...)
	path := filepath.Join(t.TempDir(), "x.gguf")
	require.NoError(t, checkpointtest.GGUF{Tensors: []checkpointtest.Stored{k, x, other}}.Write(path))
	ckpt := open(t, path)
	require.Len(t, ckpt.Tensors(), 2)
	got, shape := read(t, ckpt, "blk.3.attn_kv_b.weight")
	require.Equal(t, []int{heads * (n + v), c}, shape)
	require.Equal(t, whole, got)
	for row := range shape[0] {
		for rows := range shape[0] - row + 1 {
			dst := make([]float32, rows*c)
			require.NoError(t, ckpt.Read(t.Context(), "blk.3.attn_kv_b.weight", row, rows, dst))
			require.Equal(t, whole[row*c:(row+rows)*c], dst)
		}
	}
	require.EqualError(t, ckpt.Read(t.Context(), "blk.3.attn_kv_b.weight", 9, 2, make([]float32, 8)),
		path+`: tensors "blk.3.attn_k_b.weight" and "blk.3.attn_v_b.weight": rows [9,9+2) of 10`)
	require.Equal(t, "blk.4.attn_k_b.weight", ckpt.Tensors()[1].Name, "keys without values stay")

	// A tensor that is called as the block is stays.
	block := checkpointtest.StoredF32("blk.3", []int{1}, 7)
	require.NoError(t, checkpointtest.GGUF{Tensors: []checkpointtest.Stored{k, x, block}}.Write(path))
	ckpt = open(t, path)
	require.Len(t, ckpt.Tensors(), 2)
	got, _ = read(t, ckpt, "blk.3")
	require.Equal(t, []float32{7}, got)

	// Where a file has the whole too, nothing is joined.
	require.NoError(t, checkpointtest.GGUF{Tensors: []checkpointtest.Stored{k, x, checkpointtest.StoredF32("blk.3.attn_kv_b.weight", []int{1}, 1)}}.Write(path))
	require.Len(t, open(t, path).Tensors(), 3)
}
