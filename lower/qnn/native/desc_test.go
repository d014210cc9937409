package native

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample describes a graph with each kind of tensor, parameter and encoding.
func sample() *Desc {
	return &Desc{
		Name: "sample",
		Tensors: []Tensor{
			{Name: "x", Kind: AppWrite, Type: UFixed16, Dims: []int{2, 4}, Quant: Quant{Scale: 0.5, Offset: -32768}},
			{Name: "w", Kind: Static, Type: SFixed8, Dims: []int{2, 4}, Data: []byte{1, 2, 3, 0xff, 5, 6, 7, 8}, Quant: Quant{Axis: 0, Scales: []float32{1, 2}, Bits: 4, BlockScales: []byte{1, 2, 3, 4}}},
			{Name: "h", Kind: Native, Type: UFixed16, Dims: []int{2, 2}, Quant: Quant{Scale: 1, Bits: 12}},
			{Name: "y", Kind: AppRead, Type: Float16, Dims: []int{2}},
		},
		Nodes: []Node{
			{Name: "product", Op: "FullyConnected", In: []string{"x", "w"}, Out: []string{"h"}, Params: []Param{Bool("keep_dims", true)}},
			{Name: "sum", Op: "ReduceSum", In: []string{"h"}, Out: []string{"y"}, Params: []Param{U32s("axes", 1), I32("shift", -3), F32("by", 1.5), I32s("ranges", []int{1, 3}, 0, -1, 2)}},
		},
	}
}

func TestDescString(t *testing.T) {
	d := sample()
	d.Tensors = append(d.Tensors, Tensor{Name: "long", Kind: Static, Type: Float32, Dims: []int{17}, Data: make([]byte, 68)},
		Tensor{Name: "half", Kind: Static, Type: Float16, Dims: []int{2}, Data: encode(Float16, []float64{0.5, -2})},
		Tensor{Name: "bias", Kind: Static, Type: SFixed32, Dims: []int{1}, Data: []byte{0xff, 0xff, 0xff, 0xff}, Quant: Quant{Axis: 0, Scales: []float32{1}, Offsets: []int32{3}}})
	require.NoError(t, d.Check())
	require.Equal(t, `graph sample
  write x u16[2,4] scale=0.5 offset=-32768
  static w s8[2,4] axis=0 scales=2e3fa576 offsets=00000000 bits=4 blocks=4:b63cfbcd = 1 2 3 -1 5 6 7 8
  native h u16[2,2] scale=1 offset=0 bits=12
  read y f16[2]
  static long f32[17] = 68 bytes 10d76ead
  static half f16[2] = 0.5 -2
  static bias s32[1] axis=0 scales=aca16a6a offsets=33f170f2 = -1
  h = FullyConnected(x, w) keep_dims=1 ; product
  y = ReduceSum(h) axes=1[1] shift=-3 by=1.5 ranges=0 -1 2[1,3] ; sum
`, d.String())
}

func TestDescPorts(t *testing.T) {
	d := sample()
	require.Equal(t, d.Tensors[:1], d.Inputs())
	require.Equal(t, d.Tensors[3:], d.Outputs())
	require.Equal(t, 16, d.Tensors[0].Bytes())
}

func TestCheckRefuses(t *testing.T) {
	require.NoError(t, sample().Check())
	for _, c := range []struct {
		name   string
		change func(d *Desc)
		want   string
	}{
		{"no name", func(d *Desc) { d.Name = "" }, `graph "": want a name without zero bytes`},
		{"a zero byte", func(d *Desc) { d.Tensors[0].Name = "x\x00" }, `graph sample: tensor "x\x00": want a name without zero bytes`},
		{"no nodes", func(d *Desc) { d.Nodes = nil }, "graph sample: it has no nodes"},
		{"tensors of one name", func(d *Desc) { d.Tensors[1].Name = "x" }, `graph sample: tensor "x": a tensor before it has that name`},
		{"nodes of one name", func(d *Desc) { d.Nodes[1].Name = "product" }, `graph sample: node "product" (ReduceSum): a node before it has that name`},
		{"kind", func(d *Desc) { d.Tensors[0].Kind = 2 }, `graph sample: tensor "x": a tensor of a graph cannot be of kind(2)`},
		{"type", func(d *Desc) { d.Tensors[3].Type = 0x304 }, `graph sample: tensor "y": unknown type dtype(0x304)`},
		{"no dimensions", func(d *Desc) { d.Tensors[3].Dims = nil }, `graph sample: tensor "y": it has no dimensions: give a scalar one of 1`},
		{"extent 0", func(d *Desc) { d.Tensors[3].Dims = []int{2, 0} }, `graph sample: tensor "y": f16[2 0]: want extents of at least 1 and less than 4 GiB in all`},
		{"too large", func(d *Desc) { d.Tensors[3].Dims = []int{1 << 20, 1 << 20, 1 << 24} }, `graph sample: tensor "y": f16[1048576 1048576 16777216]: want extents of at least 1 and less than 4 GiB in all`},
		{"short data", func(d *Desc) { d.Tensors[1].Data = d.Tensors[1].Data[1:] }, `graph sample: tensor "w": 7 bytes of data for static s8[2 4], want 8`},
		{"data of an input", func(d *Desc) { d.Tensors[0].Data = make([]byte, 16) }, `graph sample: tensor "x": 16 bytes of data for write u16[2 4], want 0`},
		{"no scale", func(d *Desc) { d.Tensors[0].Quant = Quant{} }, `graph sample: tensor "x": u16 has a scale: false`},
		{"a scale of floats", func(d *Desc) { d.Tensors[3].Quant.Scale = 1 }, `graph sample: tensor "y": f16 has a scale: true`},
		{"two kinds of scale", func(d *Desc) { d.Tensors[1].Quant.Scale = 1 }, `graph sample: tensor "w": it has both a scale and scales of an axis`},
		{"bits", func(d *Desc) { d.Tensors[1].Quant.Bits = 9 }, `graph sample: tensor "w": s8 cannot hold 9 bits`},
		{"axis", func(d *Desc) { d.Tensors[1].Quant.Axis = 1 }, `graph sample: tensor "w": 2 scales for axis 1 of [2 4]`},
		{"axis beyond", func(d *Desc) { d.Tensors[1].Quant.Axis = 2 }, `graph sample: tensor "w": 2 scales for axis 2 of [2 4]`},
		{"offsets", func(d *Desc) { d.Tensors[1].Quant.Offsets = []int32{1} }, `graph sample: tensor "w": 1 offsets for 2 scales`},
		{"blocks", func(d *Desc) { d.Tensors[1].Quant.BlockScales = make([]byte, 6) }, `graph sample: tensor "w": 6 scales of blocks for 2 scales and 8 elements`},
		{"NaN", func(d *Desc) { d.Tensors[0].Quant.Scale = float32(math.NaN()) }, `graph sample: tensor "x": a scale of NaN`},
		{"negative scale", func(d *Desc) { d.Tensors[1].Quant.Scales[1] = -1 }, `graph sample: tensor "w": a scale of -1`},
		{"no op", func(d *Desc) { d.Nodes[0].Op = "" }, `graph sample: node "product" (): want a name without zero bytes`},
		{"parameter's data", func(d *Desc) { d.Nodes[0].Params[0].Data = nil }, `graph sample: node "product" (FullyConnected): parameter "keep_dims": 0 bytes of data for bool8[], want 1`},
		{"parameter without elements", func(d *Desc) { d.Nodes[1].Params[0] = U32s("axes") }, `graph sample: node "sum" (ReduceSum): parameter "axes": uint32[0]: want extents of at least 1 and less than 4 GiB in all`},
		{"no such input", func(d *Desc) { d.Nodes[0].In[0] = "z" }, `graph sample: node "product" (FullyConnected): input "z" is no tensor that has been written`},
		{"read before it is written", func(d *Desc) { d.Nodes[0], d.Nodes[1] = d.Nodes[1], d.Nodes[0] }, `graph sample: node "sum" (ReduceSum): input "h" is no tensor that has been written`},
		{"no outputs", func(d *Desc) { d.Nodes[0].Out = nil }, `graph sample: node "product" (FullyConnected): it has no outputs`},
		{"written twice", func(d *Desc) { d.Nodes[1].Out[0] = "h" }, `graph sample: node "sum" (ReduceSum): output "h" is no tensor that is still to be written`},
		{"written input", func(d *Desc) { d.Nodes[1].Out[0] = "x" }, `graph sample: node "sum" (ReduceSum): output "x" is no tensor that is still to be written`},
		{"never written", func(d *Desc) { d.Nodes = d.Nodes[:1] }, `graph sample: tensor "y": no node writes it`},
	} {
		d := sample()
		c.change(d)
		require.EqualError(t, d.Check(), c.want, c.name)
	}
}

func TestSignatureCheck(t *testing.T) {
	x := Tensor{Name: "x", Kind: AppWrite, Type: Float32, Dims: []int{1}}
	s := Signature{Graph: "g", In: []Port{{x, 1}}}
	require.NoError(t, s.check())
	s.Out = s.In
	require.EqualError(t, s.check(), `graph g: tensor "x": a port of kind write, want read`)
	s.Out, s.In[0].Dims = nil, []int{-1}
	require.EqualError(t, s.check(), `graph g: tensor "x": f32[-1]: want extents of at least 1 and less than 4 GiB in all`)
}

// TestOpenNothing holds where this build cannot call the libraries, and where no
// library is.
func TestOpenNothing(t *testing.T) {
	_, err := Open("/none/libQnnCpu.so")
	require.ErrorContains(t, err, "load /none/libQnnCpu.so: ")
	_, err = OpenSystem("/none/libQnnSystem.so")
	require.ErrorContains(t, err, "load /none/libQnnSystem.so: ")
}
