package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

// A cache is a state of rows, NaN where nothing was put.
type cache struct {
	*Attention
	keys, values []float32
}

func newCache(a Attention, rows int) *cache {
	c := &cache{&a, filled(rows*a.Groups*a.D, nan), filled(rows*a.Groups*a.Dv, nan)}
	c.sync()
	return c
}

// put writes the keys and values of position j of the sequence that seed names to a row.
func (c *cache) put(row, j int, seed uint64) {
	copy(c.keys[row*c.Groups*c.D:], normal(c.Groups*c.D, seed*1000+uint64(j)))
	copy(c.values[row*c.Groups*c.Dv:], normal(c.Groups*c.Dv, seed*2000+uint64(j)))
}

// sync rounds all rows to the state's type, and keeps them so rounded.
func (c *cache) sync() {
	c.Keys, c.Values = make([]byte, 4*len(c.keys)), make([]byte, 4*len(c.values))
	lower.Encode(c.Keys, c.keys, c.DType)
	lower.Encode(c.Values, c.values, c.DType)
	lower.Decode(c.keys, c.Keys, c.DType)
	lower.Decode(c.values, c.Values, c.DType)
}

// naive is attention of one q over the rows given, in float64.
func (c *cache) naive(q []float32, rows []int, group int) []float64 {
	out, total, w := make([]float64, c.Dv), 0.0, make([]float64, len(rows))
	top := math.Inf(-1)
	for i, r := range rows {
		for d := range c.D {
			w[i] += float64(q[d]) * float64(c.keys[(r*c.Groups+group)*c.D+d])
		}
		w[i] *= float64(c.Scale)
		top = max(top, w[i])
	}
	for i, r := range rows {
		p := math.Exp(w[i] - top)
		total += p
		for d := range out {
			out[d] += p * float64(c.values[(r*c.Groups+group)*c.Dv+d])
		}
	}
	for d := range out {
		out[d] /= total
	}
	return out
}

var attentions = []Attention{
	{Heads: 4, Groups: 4, D: 16, Dv: 16, Scale: 0.25, DType: ir.F32},
	{Heads: 4, Groups: 2, D: 24, Dv: 16, Scale: 0.2, DType: ir.BF16},
	{Heads: 3, Groups: 1, D: 20, Dv: 12, Scale: 0.3, DType: ir.F32},
	{Heads: 2, Groups: 2, D: 6, Dv: 3, Scale: 0.5, DType: ir.BF16},
	{Heads: 2, Groups: 1, D: 16, Dv: 8, Scale: 1, Window: 5, DType: ir.F32},
	{Heads: 2, Groups: 1, D: 16, Dv: 8, Scale: 1, Window: 70, DType: ir.BF16},
	{Heads: 2, Groups: 1, D: 16, Dv: 8, Scale: 1, Window: 1, DType: ir.F32},
}

func (a Attention) String() string {
	return fmt.Sprintf("%s heads %d/%d of %d and %d, window %d", a.DType, a.Heads, a.Groups, a.D, a.Dv, a.Window)
}

// TestAttention has sequences with and without a past and a parent, in one step.
func TestAttention(t *testing.T) {
	for _, shape := range attentions {
		c := newCache(shape, 400)
		sequences := []struct {
			Sequence
			n int // queries
		}{
			{Sequence{First: 0, Pos: 0, Base: 3}, 9},
			{Sequence{First: 9, Pos: 140, Base: 20}, 3},
			{Sequence{First: 12, Pos: 90, Prefix: 75, Parent: 20, Base: 200}, 60},
			{Sequence{First: 72, Pos: 64, Prefix: 64, Parent: 20, Base: 300}, 2},
		}
		for i, s := range sequences {
			for j := s.Prefix; j < s.Pos+s.n; j++ {
				c.put(s.Base+j-s.Prefix, j, uint64(i))
			}
		}
		c.sync()
		q := normal(74*c.Heads*c.D, 77)
		got := filled(75*c.Heads*c.Dv, canary)
		for _, s := range sequences {
			plain.Attend(c.Attention, got, q, s.Sequence, 0, s.n, 0, c.Heads)
		}
		require.Equal(t, filled(c.Heads*c.Dv, canary), got[74*c.Heads*c.Dv:])
		for _, s := range sequences {
			for i := range s.n {
				var rows []int
				for j := range s.Pos + i + 1 {
					if c.Window == 0 || j > s.Pos+i-c.Window {
						rows = append(rows, s.row(j))
					}
				}
				for h := range c.Heads {
					row := (s.First+i)*c.Heads + h
					want := c.naive(q[row*c.D:(row+1)*c.D], rows, h*c.Groups/c.Heads)
					for d, v := range want {
						require.InDelta(t, v, got[row*c.Dv+d], 3e-6, "%v: sequence at %d, query %d head %d value %d: values near 1, sums in f32 blocks", shape, s.First, i, h, d)
					}
				}
			}
		}
	}
}

// TestAttentionSplits computes the same rows in chunks, by head, in later steps
// and beside a parent: always the same bits.
func TestAttentionSplits(t *testing.T) {
	const n, prefix = 150, 90
	for _, shape := range attentions {
		c := newCache(shape, 400)
		for j := range n {
			c.put(j, j, 1) // all own rows
			if j < prefix {
				c.put(399-prefix+j, j, 1) // the same, shared
			} else {
				c.put(200+j-prefix, j, 1)
			}
		}
		c.sync()
		q, size := normal(n*c.Heads*c.D, 5), c.Heads*c.Dv
		want := make([]float32, n*size)
		plain.Attend(c.Attention, want, q, Sequence{}, 0, n, 0, c.Heads)
		for _, chunk := range []int{1, 7, 64, n} {
			split, step, shared := make([]float32, n*size), make([]float32, n*size), make([]float32, n*size)
			for i := 0; i < n; i += chunk {
				to := min(n, i+chunk)
				for h := range c.Heads {
					plain.Attend(c.Attention, split, q, Sequence{}, i, to, h, h+1)
				}
				plain.Attend(c.Attention, step[i*size:], q[i*c.Heads*c.D:], Sequence{Pos: i}, 0, to-i, 0, c.Heads)
			}
			for i := 0; i < n-prefix; i += chunk {
				plain.Attend(c.Attention, shared, q, Sequence{First: prefix, Pos: prefix, Prefix: prefix, Parent: 399 - prefix, Base: 200}, i, min(n-prefix, i+chunk), 0, c.Heads)
			}
			require.Equal(t, want, split, "%v: runs of %d rows, a head each", shape, chunk)
			require.Equal(t, want, step, "%v: steps of %d rows", shape, chunk)
			require.Equal(t, want[prefix*size:], shared[prefix*size:], "%v: behind a parent's prefix", shape)
		}
	}
}
