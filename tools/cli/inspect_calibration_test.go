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

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"measured on qnn-htp": "measured on qnn-htp", "": "",
		"a\nroutes    b": `"a\nroutes    b"`, "\x1b[31mred": `"\x1b[31mred"`, `say "no"`: `"say \"no\""`, "\u202eback": `"\u202eback"`,
	} {
		require.Equal(t, want, oneLine(text), "%q", text)
	}
}
