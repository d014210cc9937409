package models_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
)

// A coder is a fake whose tensors named q... hold codes: of element i the code i mod 16 - 8, of group i the scale i.
type coder struct{ *fake }

func (c coder) Encoding(name string) ir.DType {
	if name[0] == 'q' {
		return ir.W4Full32
	}
	return ir.Invalid
}

func (c coder) ReadCodes(_ context.Context, name string, row, rows int, codes []int8, scales []uint16) error {
	width := len(codes) / rows
	for i := range codes {
		codes[i] = int8((row*width+i)%16 - 8)
	}
	for i := range scales {
		scales[i] = uint16(row*width/32 + i)
	}
	return nil
}

// Codes follow the same recipes as values; only a matrix that is stored as it lies has them.
func TestReadCodes(t *testing.T) {
	for _, c := range []struct {
		name   string
		source models.Source
		shape  []int
		want   ir.DType
		at     func(expert, row int) int // the stored row
	}{
		{"plain", models.Source{Name: "q"}, []int{8, 64}, ir.W4Full32, func(_, r int) int { return r }},
		{"part", models.Source{Name: "q", Part: 1, Parts: 2}, []int{16, 64}, ir.W4Full32, func(_, r int) int { return 8 + r }},
		{"stacked part", models.Source{Name: "q", Part: 1, Parts: 2, Stacked: true}, []int{4, 16, 64}, ir.W4Full32, func(e, r int) int { return e*16 + 8 + r }},
		{"interleaved", models.Source{Name: "q", Interleaved: true}, []int{8, 64}, ir.W4Full32, func(_, r int) int { return r/4*4 + r%2*2 + r%4/2 }},
		{"transposed", models.Source{Name: "q", Transpose: true}, []int{64, 8}, ir.Invalid, nil},
		{"values", models.Source{Name: "x"}, []int{8, 64}, ir.Invalid, nil},
	} {
		f := toyCheckpoint(map[string]any{"num_hidden_layers": 1, "intermediate_size": absent, "num_key_value_heads": absent})
		f.tensors = map[string]fakeTensor{}
		f.put("embed", 10, 8)
		f.put("norm", 8)
		f.put("head", 10, 8)
		f.put(c.source.Name, c.shape...)
		m, err := models.Open(coder{f}, []models.Family{codesFamily(c.source)})
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, m.Encoding("expert.x.weight", 0, 1), c.name)
		require.Equal(t, ir.Invalid, m.Encoding("none", 0, 1), c.name)
		for row := range 8 {
			n := min(3, 8-row)
			codes, scales := make([]int8, n*64), make([]uint16, n*2)
			err := m.ReadCodes(t.Context(), "expert.x.weight", 0, 1, row, n, codes, scales)
			if c.want == ir.Invalid {
				require.ErrorContains(t, err, "codes and", c.name)
				continue
			}
			require.NoError(t, err, c.name)
			for i, q := range codes {
				at := c.at(1, row+i/64)*64 + i%64
				require.Equal(t, int8(at%16-8), q, "%s, row %d, code %d", c.name, row, i)
				require.Equal(t, uint16(at/32), scales[i/32], "%s, row %d, code %d", c.name, row, i)
			}
		}
		require.ErrorContains(t, m.ReadCodes(t.Context(), "expert.x.weight", 0, 1, 0, 1, make([]int8, 64), make([]uint16, 1)), "64 codes and 1 scales where it has "+c.want.String(), c.name)
	}
}

// codesFamily has experts of one matrix [8,64].
func codesFamily(s models.Source) models.Family {
	f := toy()
	f.Weights = models.Weights{
		"embed.weight": models.At("V,H", "embed"), "final.norm.weight": models.At("H", "norm"), "head.weight": models.At("V,H", "head"),
		"expert.x.weight": models.Weight{Extents: "Q,C"}.Or(s),
	}
	f.Config = func(c *models.Config) { c.Extent("C", 64) }
	f.State = func(*models.Config, int) ir.Type { return ir.Type{} }
	f.Layer = func(b *ir.Builder, _ *models.Config, _ int, x *ir.Value, _ ir.Step, _ *ir.Value) (y, next *ir.Value) {
		ids := b.TopK(x, 1)
		return b.Add(x, b.Experts(x, ids, b.Gather(x, ids), func(e *ir.Builder, x *ir.Value) *ir.Value {
			e.Weight("x.weight")
			return e.SiLU(x)
		})), nil
	}
	return f
}
