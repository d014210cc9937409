package lowertest

import (
	"fmt"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
)

// heads is the shape of an attention: query heads, groups of keys and values,
// and the extents of a key and a value.
type heads struct{ h, g, d, dv int }

var attentionShapes = []heads{{4, 4, 8, 8}, {8, 2, 16, 16}, {6, 3, 10, 6}, {1, 1, 64, 64}, {4, 1, 12, 5}}

// attentions returns attention behind append over steps of all kinds.
func attentions() []testCase {
	var cs []testCase
	for i, s := range steps {
		for j, a := range attentionShapes {
			for k, window := range []int{0, 1, 4, 100} {
				kv := []ir.DType{ir.F32, ir.BF16}[(i+j+k)%2]
				cs = append(cs, attention(s, a, kv, window))
			}
		}
	}
	return append(cs, badSteps()...)
}

func attention(s step, a heads, kv ir.DType, window int) testCase {
	name := fmt.Sprintf("attention %s %v %s window %d", s.name, a, kv, window)
	c := newCase(name, s.dims(), nil, func(b *ir.Builder) []*ir.Value {
		q, k, v := b.Input("q", f32(ir.T, n(a.h), n(a.d))), b.Input("k", f32(ir.T, n(a.g), n(a.d))), b.Input("v", f32(ir.T, n(a.g), n(a.dv)))
		st := b.Step()
		next := b.Append(b.Input("state", grow(kv, a)), st, k, v)
		return []*ir.Value{b.Attention(q, next, st, 0.3, window), b.Named("state.next", next)}
	}).with(s.tensors())
	s.spoil(c.in["state"])
	return c
}

func grow(d ir.DType, a heads) ir.Type {
	return ir.StateOf(ir.Grow, ir.Tensor(d, ir.S, n(a.g), n(a.d)), ir.Tensor(d, ir.S, n(a.g), n(a.dv)))
}

// badSteps returns steps that do not fit their state or each other.
func badSteps() []testCase {
	var cs []testCase
	bad := func(what, tensor string, values ...int32) {
		c := attention(steps[5], attentionShapes[0], ir.F32, 0)
		c.name = what
		cs = append(cs, c.with(tensors{tensor: interp.Ints(values, len(values))}).failing())
	}
	bad("seq that does not ascend", "seq", 0, 2, 6, 5, 7)
	bad("seq that ends early", "seq", 0, 2, 6, 6, 6)
	bad("seq that starts late", "seq", 1, 2, 6, 7, 7)
	bad("negative past", "past", 6, -1, 0, 1)
	bad("past beyond the state", "past", 6, 3, 0, 1000)
	bad("negative base", "base", -3, 6, 3, 1)
	bad("base beyond the state", "base", 11, 6, 3, 100000)
	bad("parent that is none", "parent", -1, 0, 9, 0)
	bad("parent that is negative", "parent", -1, -2, 0, 0)
	bad("parent that has a parent", "parent", -1, 0, 1, 0)
	bad("prefix beyond the parent", "pos", 6, 7, 90, 91, 92, 93, 8)
	bad("position before past", "pos", 6, 7, 1, 2, 3, 4, 8)
	return cs
}

// appends returns append alone, with parts of several widths and types.
func appends() []testCase {
	var cs []testCase
	for _, s := range steps {
		for _, d := range []ir.DType{ir.F32, ir.F16, ir.BF16} {
			name := fmt.Sprintf("append %s %s", s.name, d)
			c := newCase(name, s.dims(), nil, func(b *ir.Builder) []*ir.Value {
				latent := b.Input("latent", f32(ir.T, n(13)))
				st := b.Step()
				state := b.Input("state", ir.StateOf(ir.Grow, ir.Tensor(d, ir.S, n(13))))
				return []*ir.Value{b.Named("state.next", b.Append(state, st, latent))}
			}).with(s.tensors())
			s.spoil(c.in["state"])
			cs = append(cs, c)
		}
	}
	return cs
}

// convolutions returns conv and the shift behind it.
func convolutions() []testCase {
	var cs []testCase
	for _, s := range steps {
		for _, k := range []struct {
			d, taps int
			type_   ir.DType
		}{{1, 2, ir.F32}, {7, 4, ir.BF16}, {64, 3, ir.F32}} {
			name := fmt.Sprintf("conv %s %v", s.name, k)
			cs = append(cs, newCase(name, s.dims(), params{"conv.weight": ir.Tensor(k.type_, n(k.d), n(k.taps))}, func(b *ir.Builder) []*ir.Value {
				x := b.Input("x", f32(ir.T, n(k.d)))
				st := b.Step()
				y, next := b.Conv(x, "conv", b.Input("state", ir.StateOf(ir.Window, f32(ir.B, n(k.taps-1), n(k.d)))), st)
				return []*ir.Value{y, b.Named("state.next", next)}
			}).with(s.tensors()))
		}
	}
	return cs
}

// rotations returns rope in both orders of pairs, plain and stretched, far
// positions too.
func rotations() []testCase {
	var cs []testCase
	for _, s := range []struct{ t, h, d int }{{1, 1, 2}, {5, 3, 10}, {9, 2, 64}, {0, 2, 8}} {
		for _, a := range []ir.RoPEAttr{
			{Theta: 1e4}, {Theta: 1e4, Interleaved: true},
			{Theta: 1e4, Interleaved: true, Factor: 40, Low: 1.5, High: 6, Scale: 1.25}, {Theta: 1e4, Factor: 2}, {Theta: 1e4, Factor: 4, Low: 3, High: 3},
		} {
			name := fmt.Sprintf("rope %v %v", s, a)
			c := newCase(name, lower.Dims{"T": s.t}, nil, func(b *ir.Builder) []*ir.Value {
				st := ir.Step{Pos: b.Input("pos", ir.Tensor(ir.I32, ir.T))}
				return []*ir.Value{b.RoPE(b.Input("x", f32(ir.T, n(s.h), n(s.d))), st, a)}
			})
			cs = append(cs, c.with(tensors{"pos": newSource(name).ints(3000, s.t)}).within(4e-4, "float32 angles of positions up to 3000"))
		}
	}
	return cs
}
