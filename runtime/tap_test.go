package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/runtime"
)

// TestTap taps every value of the layers that has a name and a row a token:
// whatever the chunk, each comes once a layer, with all rows of the batch, and
// the logits stay as they are.
func TestTap(t *testing.T) {
	prompts := openGolden(t).ragged()
	for _, encoding := range []string{"f32", "w4"} {
		dir := packed(t, tiny, encoding)
		names := layerValues(t, open(t, dir, runtime.Options{}))
		plain := run(t, open(t, dir, runtime.Options{}), runtime.Batch{Prompts: prompts, Logits: runtime.All}).Logits
		type place struct {
			layer int
			name  string
		}
		var first map[place][]byte
		for _, chunk := range []int{0, 16, 3} {
			got := map[place][]byte{}
			m := open(t, dir, runtime.Options{Chunk: chunk, Taps: names, Tap: func(x runtime.Tap) {
				if at := (place{x.Layer, x.Name}); x.Layer >= 0 && x.Layer < 3 {
					require.Equal(t, 20, x.Buffer.Type.Dims[0].N, "%s, chunk %d: rows of %v", encoding, chunk, at)
					require.Nil(t, got[at], "%s, chunk %d: %v came twice", encoding, chunk, at)
					got[at] = slices.Clone(x.Buffer.Bytes())
				}
			}})
			require.Equal(t, plain, run(t, m, runtime.Batch{Prompts: prompts, Logits: runtime.All}).Logits, "%s, chunk %d", encoding, chunk)
			require.Equal(t, 3*len(names), len(got), "%s, chunk %d: values tapped", encoding, chunk)
			if first == nil {
				first = got
			}
			for at, b := range first {
				if !slices.Equal(b, got[at]) {
					t.Errorf("%s, chunk %d: %v differs from that of one chunk", encoding, chunk, at)
				}
			}
		}
	}
}

// TestTapRefused: a name that would never come is an error.
func TestTapRefused(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for _, name := range []string{"", "attn.qq", "x", "attn.q.weight", "expert.gate"} {
		_, err := runtime.Open(t.Context(), dir, runtime.Options{Taps: []string{"y", name}})
		require.ErrorContains(t, err, fmt.Sprintf("tap %q: no graph of the package computes a value of that name", name))
	}
}

// layerValues are the names of what a package's layers compute with a row a token.
func layerValues(t *testing.T, m *runtime.Model) []string {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	module, err := ir.Parse(m.Manifest().Module, ops)
	require.NoError(t, err)
	var names []string
	for _, g := range module.Graphs {
		if !strings.HasPrefix(g.Name, "c0.") || g.Name == "c0.early" {
			continue
		}
		for _, v := range g.Values {
			if v.Name != "" && v.Op != ir.Input && v.Op != ir.Weight && v.Type.DType != ir.State {
				names = append(names, v.Name)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
