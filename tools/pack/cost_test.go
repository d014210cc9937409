package pack

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/models"
	"estream/models/checkpoint"
	"estream/passes"
)

// The largest matrices of the largest models that are published are within the
// budget in every encoding; in a packing that does not join blocks, plain types of
// the very largest are not.
func TestLargestMatrices(t *testing.T) {
	for _, c := range []struct {
		name  string
		n, k  int
		plain bool // fits in bf16 and f32 too
	}{
		{"Qwen3-235B expert", 1536, 4096, true},
		{"Mixtral 8x7B attention", 4096, 4096, true},
		{"Mixtral 8x7B expert", 14336, 4096, true},
		{"DBRX expert", 10752, 6144, true},
		{"Mixtral 8x22B expert", 16384, 6144, false},
		{"DeepSeek-V3 attention", 7168, 16384, false},
		{"DeepSeek-V3 dense layer", 18432, 7168, false},
		{"Grok-1 expert", 32768, 6144, false},
	} {
		p := &packer{job: &job{o: Options{Packing: hostPacking()}}, stacked: map[string]int64{}}
		for _, d := range []ir.DType{ir.W4G64, ir.W8, ir.BF16, ir.F32} {
			typ := ir.Tensor(d, ir.N(c.n), ir.N(c.k))
			size, err := p.o.Packing.Size(typ)
			require.NoError(t, err)
			rw := passes.RecordWeight{Name: "w", Type: typ, Matrix: true, Size: size}
			cost := p.weightCost(rw)
			if d.Encoded() || c.plain {
				require.LessOrEqual(t, cost, int64(budget), "%s in %s", c.name, d)
			}
			require.GreaterOrEqual(t, cost, size+heldBytes(d, int64(c.n*c.k)), "%s in %s", c.name, d)
			if p.inBlocks(rw) && !d.Encoded() {
				p.joined = map[string]bool{typ.String(): true}
				require.LessOrEqual(t, p.weightCost(rw), int64(64<<20), "%s in %s, by blocks", c.name, d)
			}
		}
	}
}

// A weight that is stacked is read whole, and costs what that takes.
func TestStackedCosts(t *testing.T) {
	for _, tc := range []struct {
		spelling string
		want     map[string]int64
	}{
		{"each", map[string]int64{}},
		{"fused each", map[string]int64{}},
		{"stacked", map[string]int64{"expert.gate.weight": 0, "expert.up.weight": 0, "expert.down.weight": 0}},
		{"fused", map[string]int64{"expert.gate.weight": 4 * 64 * 64, "expert.up.weight": 4 * 64 * 64, "expert.down.weight": 0}},
	} {
		c := smallToy()
		c.spelling = tc.spelling
		o := options(t, "w4")
		ckpt, err := checkpoint.Open(c.write(t), checkpoint.Options{}, o.Formats...)
		require.NoError(t, err)
		defer ckpt.Close()
		model, err := models.Open(ckpt, o.Families)
		require.NoError(t, err)
		p := &packer{job: &job{o: o}, model: model, ckpt: ckpt}
		p.findStacked()
		require.Equal(t, tc.want, p.stacked, tc.spelling)
		big := passes.RecordWeight{Name: "expert.gate.weight", Type: ir.Tensor(ir.W8, ir.N(1<<14), ir.N(1<<12)), Matrix: true, Size: 1 << 26}
		require.Equal(t, tc.spelling == "each" || tc.spelling == "fused each", p.inBlocks(big))
	}
}
