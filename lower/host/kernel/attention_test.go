package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

// A cache is a state of rows, NaN where nothing was put.
type cache struct {
	*Attention
	keys, values []float32
	space        []float32 // working memory, NaN at first, then what is left there
}

func newCache(a Attention, rows int) *cache {
	c := &cache{Attention: &a, keys: filled(rows*a.Groups*a.D, nan), values: filled(rows*a.Groups*a.Dv, nan)}
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

// attend is Attend with working memory of the size that it says.
func (c *cache) attend(set *Set, dst, q []float32, s Sequence, from, to, h0, h1 int) {
	words, _ := set.AttendSpace(c.Attention)
	if len(c.space) != words+1 {
		c.space = filled(words+1, nan)
		c.space[words] = canary
	}
	set.Attend(c.Attention, dst, q, s, from, to, h0, h1, c.space[:words:words])
	if c.space[words] != canary {
		panic("Attend writes behind its working memory")
	}
}

// rounds reports whether a set rounds queries and weights to bfloat16.
func (a *Attention) rounds(set *Set) bool {
	return a.DType == ir.BF16 && set.fma != nil && set.fma.pairs
}

// naive is attention of one q over the rows given, in float64, and how far a set
// may be from each value.
func (c *cache) naive(set *Set, q []float32, rows []int, group int) (out, within []float64) {
	rounds, factor := c.rounds(set), float64(c.Scale)*math.Log2E
	if rounds {
		q = append([]float32{}, q...)
		for i, v := range q {
			q[i] = quant.FromBF16(quant.BF16(v * (c.Scale * math.Log2E)))
		}
		factor = 1
	}
	out, within = make([]float64, c.Dv), make([]float64, c.Dv)
	w, top, total := make([]float64, len(rows)), math.Inf(-1), 0.0
	for i, r := range rows {
		for d := range c.D {
			w[i] += float64(q[d]) * float64(c.keys[(r*c.Groups+group)*c.D+d])
		}
		w[i] *= factor
		top = max(top, w[i])
	}
	for i, r := range rows {
		p := math.Exp2(w[i] - top)
		total += p
		for d := range out {
			v := float64(c.values[(r*c.Groups+group)*c.Dv+d])
			out[d] += p * v
			within[d] += p * math.Abs(v)
		}
	}
	for d := range out {
		out[d] /= total
		if within[d] /= total; rounds { // weights and their total, of 8 bits each
			within[d] *= 0x1p-8
		} else {
			within[d] = 0
		}
		within[d] += 1e-5 // of values near 1: sums in f32, and exponents of up to 50 in f32
	}
	return out, within
}

var attentions = []Attention{
	{Heads: 4, Groups: 4, D: 16, Dv: 16, Scale: 0.25, DType: ir.F32},
	{Heads: 4, Groups: 2, D: 24, Dv: 16, Scale: 0.2, DType: ir.BF16},
	{Heads: 3, Groups: 1, D: 20, Dv: 12, Scale: 0.3, DType: ir.F32},
	{Heads: 2, Groups: 2, D: 6, Dv: 3, Scale: 0.5, DType: ir.BF16},
	{Heads: 1, Groups: 1, D: 7, Dv: 37, Scale: 0.5, DType: ir.BF16},
	{Heads: 1, Groups: 1, D: 33, Dv: 65, Scale: 0.2, DType: ir.F32},
	{Heads: 2, Groups: 1, D: 16, Dv: 8, Scale: 1, Window: 5, DType: ir.F32},
	{Heads: 2, Groups: 1, D: 16, Dv: 8, Scale: 1, Window: 70, DType: ir.BF16},
	{Heads: 2, Groups: 1, D: 16, Dv: 8, Scale: 1, Window: 1, DType: ir.F32},
	{Heads: 5, Groups: 1, D: 80, Dv: 80, Scale: 0.1, Window: 300, DType: ir.BF16},
	{Heads: 1, Groups: 1, D: 192, Dv: 128, Scale: 0.07, DType: ir.BF16},
	{Heads: 1, Groups: 1, D: 576, Dv: 512, Scale: 0.04, DType: ir.F32},
}

func (a Attention) String() string {
	return fmt.Sprintf("%s heads %d/%d of %d and %d, window %d", a.DType, a.Heads, a.Groups, a.D, a.Dv, a.Window)
}

// TestAttention has sequences with and without a past and a parent, in one step.
func TestAttention(t *testing.T) {
	type sequence struct {
		Sequence
		n int // queries
	}
	sequences := []sequence{
		{Sequence{First: 0, Pos: 0, Base: 3}, 9},
		{Sequence{First: 9, Pos: 140, Base: 20}, 3},
		{Sequence{First: 12, Pos: 90, Prefix: 75, Parent: 20, Base: 200}, 60},
		{Sequence{First: 72, Pos: 64, Prefix: 64, Parent: 20, Base: 300}, 2},
		{Sequence{First: 74, Pos: 500, Base: 400}, 27},
	}
	const rows, queries = 1000, 101
	for _, shape := range attentions {
		c := newCache(shape, rows)
		for i, s := range sequences {
			for j := s.Prefix; j < s.Pos+s.n; j++ {
				c.put(s.Base+j-s.Prefix, j, uint64(i))
			}
		}
		c.sync()
		q := normal(queries*c.Heads*c.D, 77)
		for _, set := range append(fmaSets(), plain) {
			got := filled((queries+1)*c.Heads*c.Dv, canary)
			for _, s := range sequences {
				c.attend(set, got, q, s.Sequence, 0, s.n, 0, c.Heads)
			}
			require.Equal(t, filled(c.Heads*c.Dv, canary), got[queries*c.Heads*c.Dv:])
			for _, s := range sequences {
				for i := 0; i < s.n; i += 1 + s.n/8 {
					c.check(t, set, got, q, s.Sequence, i)
				}
			}
		}
	}
}

// check compares all heads of row i of a sequence.
func (c *cache) check(t *testing.T, set *Set, got, q []float32, s Sequence, i int) {
	t.Helper()
	var rows []int
	for j := range s.Pos + i + 1 {
		if c.Window == 0 || j > s.Pos+i-c.Window {
			rows = append(rows, s.row(j))
		}
	}
	for h := range c.Heads {
		row := (s.First+i)*c.Heads + h
		want, within := c.naive(set, q[row*c.D:(row+1)*c.D], rows, h*c.Groups/c.Heads)
		for d, v := range want {
			if g := float64(got[row*c.Dv+d]); !(math.Abs(g-v) <= within[d]) {
				t.Fatalf("%s, %v: sequence at %d, query %d head %d value %d is %g, want %g to %.3g", set, c.Attention, s.First, i, h, d, g, v, within[d])
			}
		}
	}
}

// TestAttentionSplits computes the same rows in chunks, by head, in later steps
// and beside a parent: always the same bits.
func TestAttentionSplits(t *testing.T) {
	const n, prefix, rows = 290, 90, 800
	for _, shape := range attentions {
		c := newCache(shape, rows)
		for j := range n {
			c.put(j, j, 1) // all own rows
			if j < prefix {
				c.put(rows-1-prefix+j, j, 1) // the same, shared
			} else {
				c.put(400+j-prefix, j, 1)
			}
		}
		c.sync()
		q, size := normal(n*c.Heads*c.D, 5), c.Heads*c.Dv
		for _, set := range append(fmaSets(), plain) {
			if set.fma == nil && c.D > 50 {
				continue // too slow
			}
			want := make([]float32, n*size)
			c.attend(set, want, q, Sequence{}, 0, n, 0, c.Heads)
			for _, chunk := range []int{1, 7, 100} {
				first := n - 50 // of two blocks of keys
				if chunk == 100 {
					first = 0
				}
				split, step, shared := make([]float32, n*size), make([]float32, n*size), make([]float32, n*size)
				for i := first; i < n; i += chunk {
					to := min(n, i+chunk)
					for h := range c.Heads {
						c.attend(set, split, q, Sequence{}, i, to, h, h+1)
					}
					c.attend(set, step[i*size:], q[i*c.Heads*c.D:], Sequence{Pos: i}, 0, to-i, 0, c.Heads)
				}
				behind := max(first, prefix)
				for i := behind; i < n; i += chunk {
					c.attend(set, shared, q, Sequence{First: prefix, Pos: prefix, Prefix: prefix, Parent: rows - 1 - prefix, Base: 400}, i-prefix, min(n, i+chunk)-prefix, 0, c.Heads)
				}
				requireBits(t, want[first*size:], split[first*size:], "%s, %v: runs of %d rows, a head each", set, shape, chunk)
				requireBits(t, want[first*size:], step[first*size:], "%s, %v: steps of %d rows", set, shape, chunk)
				requireBits(t, want[behind*size:], shared[behind*size:], "%s, %v: behind a parent's prefix", set, shape)
			}
		}
	}
}

// TestAttentionNotFinite puts what is not finite in the middle of a sequence: it
// reaches the rows that see it, and no other changes a bit.
func TestAttentionNotFinite(t *testing.T) {
	const n, bad = 70, 37
	inf := float32(math.Inf(-1))
	for _, shape := range attentions[:9] {
		good := newCache(shape, n)
		for j := range n {
			good.put(j, j, 1)
		}
		good.sync()
		q, size := normal(n*good.Heads*good.D, 5), good.Heads*good.Dv
		for _, set := range append(fmaSets(), plain) {
			want := make([]float32, n*size)
			good.attend(set, want, q, Sequence{}, 0, n, 0, good.Heads)
			for _, c := range []struct {
				what  string
				key   float32 // added to the last element of the key
				value float32 // and of the value
			}{{"a key of NaN", nan, 0}, {"a value of NaN", 0, nan}, {"a value of -Inf", 0, inf}} {
				spoiled := newCache(shape, n)
				copy(spoiled.keys, good.keys)
				copy(spoiled.values, good.values)
				spoiled.keys[(bad+1)*shape.Groups*shape.D-1] += c.key
				spoiled.values[(bad+1)*shape.Groups*shape.Dv-1] += c.value
				spoiled.sync()
				got := make([]float32, n*size)
				spoiled.attend(set, got, q, Sequence{}, 0, n, 0, shape.Heads)
				for i := range n {
					row := got[i*size : (i+1)*size]
					if i < bad || shape.Window > 0 && i >= bad+shape.Window {
						requireBits(t, want[i*size:(i+1)*size], row, "%s, %v: %s at %d, row %d", set, shape, c.what, bad, i)
					} else if last := row[size-1]; last-last == 0 {
						t.Fatalf("%s, %v: %s at %d, row %d ends with %g, want NaN or infinity", set, shape, c.what, bad, i, last)
					}
				}
			}
		}
	}
}

// requireBits compares bits, zeros with their signs.
func requireBits(t *testing.T, want, got []float32, format string, args ...any) {
	t.Helper()
	for i, w := range want {
		if math.Float32bits(w) != math.Float32bits(got[i]) {
			t.Fatalf("%s: element %d is %g, want %g", fmt.Sprintf(format, args...), i, got[i], w)
		}
	}
}
