package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHalf(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   int
	}{
		{[]float64{0.25, 0.25, 0.25, 0.25}, 2},
		{[]float64{0.1, 0.7, 0.2}, 1},
		{[]float64{0.3, 0.3, 0.4}, 2},
		{nil, 0},
	} {
		require.Equal(t, c.want, half(c.shares), "%v", c.shares)
	}
}
