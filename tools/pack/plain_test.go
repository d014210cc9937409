package pack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/models"
	"estream/models/checkpoint"
	"estream/passes"
)

// Plain weights are encoded row by row, from the row that is asked for, and have
// a factor like any other.
func TestPlainWeights(t *testing.T) {
	t.Parallel()
	c := smallToy()
	ckpt, err := checkpoint.Open(c.write(t), checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer ckpt.Close()
	o := options(t, "w4")
	model, err := models.Open(ckpt, o.Families)
	require.NoError(t, err)
	p := &packer{job: &job{o: o}, model: model, ckpt: ckpt}
	for _, tc := range []struct {
		name    string
		typ     ir.Type
		row     int
		n, k    int
		encoded bool
	}{
		{"ffn.router.weight", ir.Tensor(ir.W8, ir.N(4), ir.N(64)), 0, 4, 64, true},
		{"ffn.router.weight", ir.Tensor(ir.W8, ir.N(2), ir.N(64)), 1, 2, 64, true},
		{"ffn.router.weight", ir.Tensor(ir.F32, ir.N(2), ir.N(64)), 2, 2, 64, false},
		{"ffn.norm.weight", ir.Tensor(ir.F32, ir.N(64)), 0, 1, 64, false},
		{"ffn.norm.weight", ir.Tensor(ir.F32, ir.N(16)), 32, 1, 16, false},
	} {
		size, err := lower.PlainSize(tc.typ)
		require.NoError(t, err)
		dst := make([]byte, size)
		factor, err := p.plain(t.Context(), dst, passes.RecordWeight{Name: tc.name, Type: tc.typ, Size: size}, spot{layer: 1, row: tc.row})
		require.NoError(t, err)
		all, _ := c.source(tc.name, 1, 0)
		from := tc.row * tc.k
		if len(tc.typ.Dims) == 1 {
			from = tc.row
		}
		want, err := quant.Encode(tc.typ.DType, tc.n, tc.k, all[from:from+tc.n*tc.k])
		require.NoError(t, err)
		require.Equal(t, want.Factor, factor, "%s of %s", tc.typ, tc.name)
		require.Equal(t, tc.encoded, factor != 1, "%s of %s", tc.typ, tc.name)
		got, err := lower.UnpackPlain(dst, tc.typ)
		require.NoError(t, err)
		got.N, got.Factor = tc.n, factor // of a vector, N is its length
		require.Equal(t, want.Values(), got.Values(), "%s of %s from row %d", tc.typ, tc.name, tc.row)
	}
}
