package passes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

const headText = `
graph head.norm
  %1:x = input : f32[L,32]
  %2:g = weight offset=0 : f32[32]
  %3:h = rmsnorm %1 %2 eps=1e-05 : f32[L,32]
  return %3

graph head.proj
  %1:h = input : f32[L,32]
  %2:w = weight offset=0 : w8[P,32]
  %3:logits = matmul %1 %2 : f32[L,P]
  return %3
`

// TestHeadTiers: the head stands on a device that has tiers for its rows and columns,
// and only there.
func TestHeadTiers(t *testing.T) {
	for _, c := range []struct {
		name string
		l, p []int
		want []string
	}{
		{"neither", nil, nil, nil},
		{"rows alone", []int{1}, nil, nil},
		{"columns alone", nil, []int{8}, nil},
		{"both", []int{4, 1}, []int{64, 8}, []string{"head.norm", "head.norm@L1", "head.norm@L4", "head.proj", "head.proj@L1,P8", "head.proj@L1,P64", "head.proj@L4,P8", "head.proj@L4,P64"}},
	} {
		ops, err := ir.Core()
		require.NoError(t, err)
		m, err := ir.Parse(headText, ops)
		require.NoError(t, err)
		target := Target{Backend: named{name: "npu"}, Host: named{name: "host"}, Static: true, Tiers: Tiers{L: c.l, P: c.p}, Activation: func(ir.DType) ir.DType { return ir.A8 }}
		require.NoError(t, Run(m, Open(target)[:2], nil), c.name)
		var on []string
		for _, g := range m.Graphs {
			if g.On == "npu" {
				on = append(on, g.Name)
			}
		}
		require.ElementsMatch(t, c.want, on, c.name)
		x := m.Graph("head.proj").Inputs()[0].Type.DType
		require.Equal(t, len(c.want) == 0, x.Activation(), "%s: the host's x is quantized", c.name)
		if g := m.Graph("head.proj@L4,P8"); g != nil {
			require.Equal(t, "w8[8,32]", g.Weights()[0].Type.String())
			require.Equal(t, "f32[4,8]", g.Outputs[0].Type.String())
			require.True(t, slices.Equal(g.Inputs()[0].Type.Dims, []ir.Dim{ir.N(4), ir.N(32)}))
		}
	}
}

// named is a backend that supports everything.
type named struct {
	lower.Backend
	name string
}

func (n named) Name() string             { return n.name }
func (n named) Supports(*ir.Value) error { return nil }
