package passes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
)

// tierNames are of graphs: tiers with their extents, and others.
func tierNames() map[string]lower.Dims {
	return map[string]lower.Dims{
		"c0.body@T8,S16":         {"T": 8, "S": 16},
		"expert0@R4":             {"R": 4},
		"c0.body@Tok12":          {"Tok": 12},
		"c0.body":                nil,
		"c0.body@":               nil,
		"c0.body@static":         nil,
		"c0.body@T":              nil,
		"c0.body@8":              nil,
		"c0.body@T0":             nil,
		"c0.body@T8,":            nil,
		"c0.body@T8,T8":          nil,
		"g@T9223372036854775808": nil,
	}
}

func TestParseTier(t *testing.T) {
	for name, want := range tierNames() {
		graph, dims, ok := ParseTier(name)
		require.Equal(t, want != nil, ok, name)
		if ok {
			require.Equal(t, want, dims, name)
			require.Equal(t, strings.Split(name, "@")[0], graph)
		}
	}
}

func FuzzParseTier(f *testing.F) {
	for name := range tierNames() {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		graph, dims, ok := ParseTier(name)
		if !ok {
			return
		}
		var tags []string
		for _, sym := range slices.Sorted(maps.Keys(dims)) {
			require.Positive(t, dims[sym])
			tags = append(tags, fmt.Sprintf("%s%d", sym, dims[sym]))
		}
		again, same, ok := ParseTier(graph + "@" + strings.Join(tags, ","))
		require.True(t, ok)
		require.Equal(t, graph, again)
		require.Equal(t, dims, same)
	})
}
