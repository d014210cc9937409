package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain, ümläut\t\n", "plain, ümläut\t\n"},
		{"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
		{"\x1b]0;title\x07 \x1b[2J", "\uFFFD]0;title\uFFFD \uFFFD[2J"},
		{"a\x00b\rc\u009bd", "a\uFFFDb\uFFFDc\uFFFDd"},
	} {
		require.Equal(t, c.want, visible(c.text), "%q", c.text)
	}
}

func TestLikeliest(t *testing.T) {
	ids := func(cs []candidate) (out []int32) {
		for _, c := range cs {
			out = append(out, c.ID)
		}
		return out
	}
	require.Equal(t, []int32{3, 1, 2, 0, 5}, ids(likeliest([]float32{1, 2, 2, 9, 0, 1, -4}, 5, nil)), "ties to the lower id")
	require.Equal(t, []int32{1, 0}, ids(likeliest([]float32{1, 2}, 5, nil)))
	top := likeliest([]float32{0, 0}, 1, nil)
	require.InDelta(t, 0.5, top[0].Prob, 1e-9)
}
