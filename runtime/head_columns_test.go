package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/runtime"
)

func TestHeadColumns(t *testing.T) {
	const layers = 2
	for _, c := range []struct {
		name string
		rows int64
		runs int // records of the head beside the norm's
		want []int
	}{
		{"one record", 160, 1, []int{160}},
		{"all alike", 128, 4, []int{32}},
		{"the last narrower", 160, 3, []int{64, 32}},
		{"OLMoE's in w8", 50304, 99, []int{512, 128}},
		{"no records", 160, 0, nil},
		{"no rows", 0, 1, nil},
		{"more records than panels", 32, 9, nil},
		{"rows beyond any vocabulary", 1 << 40, 1, nil},
	} {
		man := &layout.Manifest{Rows: []layout.Region{{Rows: c.rows}}, Dense: []layout.Record{{Layer: 0}, {Layer: 1}}}
		for range c.runs + 1 {
			man.Dense = append(man.Dense, layout.Record{Layer: layers})
		}
		require.Equal(t, c.want, runtime.HeadColumns(man, layers), c.name)
	}
	require.Nil(t, runtime.HeadColumns(&layout.Manifest{}, layers))
}
