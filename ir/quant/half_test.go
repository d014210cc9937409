package quant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBF16(t *testing.T) {
	for _, c := range []struct {
		in   uint32
		want uint16
	}{
		{0x3f808000, 0x3f80}, // half way, even below
		{0x3f818000, 0x3f82}, // half way, even above
		{0x3f808001, 0x3f81},
		{0x3f807fff, 0x3f80},
		{0x7f7fffff, 0x7f80}, // past the largest
		{0xff800000, 0xff80},
		{0x7f800001, 0x7fc0}, // a NaN whose bits would be cut off
		{0xffffffff, 0xffff},
		{0x80000000, 0x8000},
		{0x00008000, 0x0000},
		{0x00018000, 0x0002},
	} {
		require.Equal(t, c.want, BF16(math.Float32frombits(c.in)), "BF16(%#x)", c.in)
	}
	for h := range 1 << 16 {
		v := FromBF16(uint16(h))
		if got := BF16(v); v == v && got != uint16(h) {
			t.Fatalf("BF16(%g) is %#x, want %#x", v, got, h)
		}
	}
}

func TestF16RoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		v := FromF16(uint16(h))
		if got := F16(v); v == v && got != uint16(h) {
			t.Fatalf("F16(%g) is %#x, want %#x", v, got, h)
		}
	}
}
