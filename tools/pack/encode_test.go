package pack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/models/checkpoint/checkpointtest"
)

// Blocks of any size make what the whole matrix makes, bit for bit: also where
// rows are of very different size, are zeros, or are so small that their scales
// are raised to the least there is.
func TestBlocksAreTheWhole(t *testing.T) {
	const k = 64
	scales := map[string]func(row int) float64{
		"alike":         func(int) float64 { return 0.02 },
		"rising":        func(row int) float64 { return math.Ldexp(1, row-20) },
		"falling":       func(row int) float64 { return math.Ldexp(1, 20-row) },
		"zeros first":   func(row int) float64 { return float64(row/20) * 0.1 },
		"zeros last":    func(row int) float64 { return float64(max(0, 10-row)) },
		"zeros":         func(int) float64 { return 0 },
		"one large":     func(row int) float64 { return 1e-6 + 1e6*math.Floor(float64(row%37)/36) },
		"far too small": func(row int) float64 { return 1e-3 * math.Pow(0.5, float64(row%30)) },
	}
	for name, scale := range scales {
		for _, d := range []ir.DType{ir.F32, ir.BF16, ir.W8, ir.W4G32, ir.W4G64, ir.W4Full32} {
			for _, n := range []int{1, 39, 40} {
				r := rand.New(rand.NewPCG(uint64(n), uint64(d)))
				w := make([]float32, n*k)
				for i := range w {
					w[i] = float32(r.NormFloat64() * scale(i/k))
				}
				want, refused := quant.Encode(d, n, k, slices.Clone(w))
				for _, step := range []int{1, 3, 8, 39, 100} {
					got, err := newBlocks(d, n, k, func(row int, dst []float32) error {
						copy(dst, w[row*k:])
						return nil
					}).encodeAll(step)
					if refused != nil { // beyond the scales of the type
						require.Error(t, err)
						continue
					}
					require.NoError(t, err)
					require.Equal(t, want, got, "%s, %s, %d rows in blocks of %d", name, d, n, step)
				}
			}
		}
	}
}

func TestBlocksNameTheWeight(t *testing.T) {
	read := func(row int, dst []float32) error {
		if row == 4 {
			dst[33] = float32(math.Inf(1))
		}
		return nil
	}
	_, err := newBlocks(ir.W8, 10, 32, read).encodeAll(2)
	require.EqualError(t, err, "rows from 4: quant: weight [1,1] is +Inf")
	_, err = newBlocks(ir.W8, 10, 32, func(row int, dst []float32) error { return fmt.Errorf("row %d cannot be read", row) }).encodeAll(2)
	require.EqualError(t, err, "row 0 cannot be read")
}

// A model whose matrices are all large, made by blocks, is the same package.
func TestLargeMatrices(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.hidden, c.inner = 128, 200 // not whole blocks
	from := c.write(t)
	for _, e := range Encodings {
		for _, p := range []lower.Packing{hostPacking(), npuPacking()} {
			if e.Experts.Full() && p.Name != "host" {
				continue
			}
			o := options(t, e.Name)
			o.Packing = p
			want, _ := packed(t, from, o)
			o.block = 32 * 128
			got, _ := packed(t, from, o)
			requireSame(t, want, got)
		}
	}
}

// The host's panels follow each other; a matrix that is stored column by column
// cannot be made by blocks.
func TestJoins(t *testing.T) {
	for _, d := range []ir.DType{ir.F32, ir.BF16, ir.F16} {
		for _, n := range []int{64, 65, 100, 128} {
			typ := ir.Tensor(d, ir.N(n), ir.N(70))
			ok, err := joins(hostPacking(), typ, 64)
			require.NoError(t, err)
			require.True(t, ok, "host, %s", typ)
			ok, err = joins(hostPacking(), typ, 50)
			require.NoError(t, err)
			require.False(t, ok, "half panels, %s", typ)
			ok, err = joins(npuPacking(), typ, 64)
			require.NoError(t, err)
			require.False(t, ok, "npu, %s", typ)
		}
	}
}

func TestLargeWeightsThatAreNoNumbers(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.hidden, c.inner = 128, 200
	c.change = func(ts map[string]checkpointtest.Tensor) {
		copy(ts["model.layers.1.mlp.experts.2.up_proj.weight"].Data[2*(128*70+3):], []byte{0xc0, 0x7f})
	}
	from := c.write(t)
	for e, want := range map[string]string{
		"w8":   "weight expert.up.weight of layer 1, expert 2: rows from 64: quant: weight [6,3] is NaN",
		"bf16": "rows from 64: weight expert.up.weight of layer 1, expert 2: quant: weight [6,3] is NaN",
	} {
		o := options(t, e)
		o.block = 32 * 128
		_, err := Run(t.Context(), from, filepath.Join(t.TempDir(), "pkg"), o)
		require.ErrorContains(t, err, want)
	}
}
