package kernel

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// TestTileUnpacked has rows of which some are left over in tiles and in pairs,
// parts of K that end within a segment, within a step, and with the row, and a
// column and row of the largest sums.
func TestTileUnpacked(t *testing.T) {
	eachTile(func(s *Set, d ir.DType, blocks bool) {
		if s.tile == nil || s.tile.kind == tileNeon {
			return
		}
		lengths := []int{128, 1152}
		if d == ir.W8 && !blocks {
			lengths = []int{1, 67, 512, 516, 1031}
		}
		for _, k := range lengths {
			for _, rows := range []int{7, 8, 13, 19, 31, 41, tileRowsMax} {
				const stride = PanelColumns + 1
				m, x := exact(d, PanelColumns, k, rows, blocks)
				largest := slices.Max(m.Q)
				for i := range k {
					m.Q[i], x[i] = largest, 129
				}
				w := packOf(t, m)
				want, got := filled(rows*stride, canary), filled(rows*stride, canary)
				plain.MulA8(w, want, stride, A8{Data: x, Rows: rows, Blocks: blocks}, 0, 1)
				a := newTile(w, blocks)
				a.rows, a.x, a.dst, a.dstStride = rows, x, got, 4*stride
				a.codes, a.scales = w.Panel(0), w.panelScales(0)
				require.True(t, a.unpackable(), "%s[%d] blocks=%v", d, k, blocks)
				s.tile.mulUnpacked(&a)
				require.Equal(t, want, got, "%s: %s[%d] blocks=%v, %d rows", s, d, k, blocks, rows)
			}
		}
	})
}
