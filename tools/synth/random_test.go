package synth

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host/kernel"
	"estream/models"
	"estream/passes"
)

// Matrices of every type have the law's deviation, codes that the encoding has,
// and a factor and scales as quant makes them.
func TestMatrix(t *testing.T) {
	const n, k = 64, 256
	for _, d := range []ir.DType{ir.F32, ir.BF16, ir.F16, ir.W8, ir.W4G32, ir.W4G64, ir.W4G128, ir.W4Full32} {
		m, err := law{0, 0.1}.matrix(stream(1, d.String()), d, n, k)
		require.NoError(t, err)
		sum := 0.0
		for _, v := range m.Values() {
			sum += float64(v) * float64(v)
		}
		require.InDelta(t, 0.1, math.Sqrt(sum/(n*k)), 0.005, "deviation of %s", d)
		tt := ir.Tensor(d, ir.N(n), ir.N(k))
		size, err := kernel.Packing.Size(tt)
		require.NoError(t, err)
		data := make([]byte, size)
		require.NoError(t, kernel.Packing.Pack(data, m))
		back, err := kernel.Packing.Unpack(data, tt) // refuses codes that there are not
		require.NoError(t, err)
		require.Equal(t, m.Q, back.Q, d.String())
		if !d.Encoded() || d.Full() {
			require.Equal(t, float32(1), m.Factor, d.String())
			continue
		}
		most := 0.0
		for _, s := range m.Scale {
			v := float64(math.Float32frombits(uint32(s&0x7fff)<<13)) * 0x1p112 // f16 that is normal
			most = max(most, v)
		}
		require.True(t, most >= 0.5 && most <= 1, "%s: largest scale %v, want it in [0.5, 1)", d, most)
	}
}

func TestLaw(t *testing.T) {
	vector, matrix := ir.Tensor(ir.F32, ir.N(64)), ir.Tensor(ir.F32, ir.N(4), ir.N(64))
	for _, c := range []struct {
		weight string
		t      ir.Type
		want   law
	}{
		{"attn.norm.weight", vector, law{1, 0.1}},
		{"ffn.expert_bias", vector, law{0, 0.1}},
		{"attn.q.weight", matrix, law{0, 0.125}},
		{"embed.weight", matrix, law{0, 4}},
	} {
		require.Equal(t, c.want, lawOf(c.weight, c.t), c.weight)
	}
}

// Any part of a tensor has the values that the whole has.
func TestBits(t *testing.T) {
	m := &model{seed: 3}
	x := tensor{name: "x", table: law{0, 1}.table()}
	whole := make([]byte, 6*block)
	m.bits(x, 0, whole)
	for _, c := range []struct{ from, to int }{{0, 1}, {5, 9}, {block - 1, block + 1}, {block, 2 * block}, {10, 3 * block}} {
		part := make([]byte, 2*(c.to-c.from))
		m.bits(x, int64(c.from), part)
		require.Equal(t, whole[2*c.from:2*c.to], part, "elements %d to %d", c.from, c.to)
	}
	require.NotEqual(t, whole[:2*block], whole[2*block:4*block])
}

func TestStored(t *testing.T) {
	for _, c := range []struct {
		name    string
		extents string
		source  models.Source
		dims    []int
		want    []int
	}{
		{"as it is", "Q,H", models.Source{}, []int{8, 4}, []int{8, 4}},
		{"an extent that graphs do not have", "H,1,3", models.Source{}, []int{8, 3}, []int{8, 1, 3}},
		{"half of a fused one", "F,H", models.Source{Parts: 2}, []int{8, 4}, []int{16, 4}},
		{"stacked and transposed", "F,H", models.Source{Stacked: true, Transpose: true}, []int{8, 4}, []int{5, 4, 8}},
	} {
		x := ir.Tensor(ir.F32)
		for _, n := range c.dims {
			x.Dims = append(x.Dims, ir.N(n))
		}
		require.Equal(t, c.want, stored(models.Weight{Extents: c.extents}, c.source, x, 5), c.name)
	}
}

// Experts share a few matrices, and differ.
func TestShared(t *testing.T) {
	f := &filler{seed: 1, packing: kernel.Packing, shared: map[string]*shared{}}
	x := ir.Tensor(ir.W4G64, ir.N(32), ir.N(64))
	size, err := f.packing.Size(x)
	require.NoError(t, err)
	distinct := map[string]bool{}
	for e := range 200 {
		data := make([]byte, size)
		factor, err := f.fill(data, passes.RecordWeight{Name: "expert.up.weight", Type: x, Matrix: true}, 0, e)
		require.NoError(t, err)
		require.Greater(t, factor, float32(0))
		distinct[string(data)] = true
	}
	require.Len(t, distinct, most)
}

func BenchmarkFill(b *testing.B) {
	for _, name := range []string{"expert.up.weight", "attn.q.weight"} {
		for _, d := range []ir.DType{ir.W4G64, ir.W8, ir.BF16} {
			b.Run(name+" "+d.String(), func(b *testing.B) {
				f := &filler{seed: 1, packing: kernel.Packing, shared: map[string]*shared{}}
				x := ir.Tensor(d, ir.N(1024), ir.N(2048))
				size, err := f.packing.Size(x)
				require.NoError(b, err)
				data := make([]byte, size)
				b.SetBytes(size)
				for e := 0; b.Loop(); e++ {
					if _, err := f.fill(data, passes.RecordWeight{Name: name, Type: x, Matrix: true}, 0, e); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkBits(b *testing.B) {
	m, x, bits := &model{seed: 1}, tensor{name: "x", table: law{0, 1}.table()}, make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		m.bits(x, 0, bits)
	}
}
