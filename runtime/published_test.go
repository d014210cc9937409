package runtime_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/models"
	"estream/models/all"
	"estream/passes"
	"estream/tools/pack"
)

// TestPublishedSizes lowers the published models as w4: their records take what
// codes and scales take, and hardly more.
func TestPublishedSizes(t *testing.T) {
	files, err := filepath.Glob("../models/all/testdata/configs/*.config.json")
	require.NoError(t, err)
	require.Len(t, files, len(families))
	e, err := pack.FindEncoding("w4")
	require.NoError(t, err)
	policy := passes.Policy{Experts: e.Experts, Attention: e.Attention, Head: e.Head, Embed: e.Embed, Exact: func(_, _ string) ir.DType { return ir.BF16 }}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		c, err := models.ReadConfig(text)
		require.NoError(t, err)
		f, err := models.Find(all.Families(), c.Architectures[0])
		require.NoError(t, err)
		m, err := models.Build(f, c)
		require.NoError(t, err)
		packing, bare := host.New(host.Options{}).Packings()[0], int64(0)
		require.NoError(t, passes.Run(m, passes.Pack(policy, packing, nil), func(after string, m *ir.Module) {
			if after == "quantize" {
				bare = bareBytes(m, int64(c.NumExperts))
			}
		}))
		require.InEpsilon(t, bare, recordBytes(t, m, packing, c.VocabSize), 0.01, filepath.Base(file))
	}
}

// bareBytes is what the weights' codes and f16 scales take.
func bareBytes(m *ir.Module, experts int64) (n int64) {
	for _, g := range m.Graphs {
		for _, w := range g.Weights() {
			n += storedBytes(w.Type)
		}
		for _, v := range g.Values {
			if v.Body != nil {
				for _, w := range v.Body.Weights() {
					n += experts * storedBytes(w.Type)
				}
			}
		}
	}
	return n
}

func storedBytes(t ir.Type) int64 {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d.N)
	}
	scales := int64(0)
	if t.DType.Encoded() {
		scales = n / int64(t.DType.Group(t.Last().N))
	}
	return n*int64(t.DType.Bits())/8 + 2*scales
}

// recordBytes is what the records of a lowered module take, and the table of vocab rows.
func recordBytes(t *testing.T, m *ir.Module, packing lower.Packing, vocab int) int64 {
	t.Helper()
	records, err := passes.Records(m, packing)
	require.NoError(t, err)
	head, err := records[passes.HeadProj].Bind(packing, lower.Dims{"P": vocab})
	require.NoError(t, err)
	row := m.Graph(passes.EmbedGraph).Weights()[0].Type
	n := records[passes.HeadNorm].Len + head.Len + storedBytes(ir.Tensor(row.DType, ir.N(vocab), row.Last()))
	for _, class := range m.Layers {
		callee, experts, err := passes.Routed(m, class)
		require.NoError(t, err)
		n += records[class].Len + int64(experts)*records[callee].Len
	}
	return n
}
