package passes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
)

// TestSlots runs graphs on slots that remember whose value they hold: no value is
// lost before it is read, and none is written where an operand lies. The host's
// compiler, which notes what each place holds, takes them all.
func TestSlots(t *testing.T) {
	for name, text := range modules(t) {
		m := parse(t, text)
		if err := planMemory(m); err == nil {
			checkSlots(t, m, name)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	planned, b := 0, host.New(host.Options{Threads: 1})
	for range 2000 {
		m := &ir.Module{Graphs: []*ir.Graph{randomGraph(r)}}
		require.NoError(t, m.Verify(), m.String())
		if err := planMemory(m); err != nil {
			require.ErrorContains(t, err, "which is no input: return a copy of it")
			continue
		}
		planned++
		checkSlots(t, m, m.String())
		c, err := b.Compile(t.Context(), m, b.Packings()[0])
		require.NoError(t, err, m.String())
		require.NoError(t, c.Close())
	}
	require.Greater(t, planned, 1000)
}

func checkSlots(t *testing.T, m *ir.Module, name string) {
	t.Helper()
	for _, g := range m.Graphs {
		if g.On == "" {
			require.NoError(t, simulate(g), "%s:\n%s", name, g)
		}
	}
}

// simulate computes g's values one after another.
func simulate(g *ir.Graph) error {
	holds, output := map[int]set{}, setOf(g.Outputs...)
	for _, v := range g.Values {
		for _, a := range v.Args {
			if a.Slot > 0 && !holds[a.Slot][a] {
				return fmt.Errorf("%s reads %s, which slot %d no longer holds", v, a, a.Slot)
			}
		}
		shares := v.Op == ir.Reshape && !output[v] && v.Slot == v.Args[0].Slot
		switch {
		case v.Slot == 0:
			if !isSource(v) && !output[v] && !shares && v.Overwrites() == nil {
				return fmt.Errorf("%s has no slot", v)
			}
		case output[v] || isSource(v):
			return fmt.Errorf("%s lies in the call's buffers, yet has slot %d", v, v.Slot)
		case shares:
			holds[v.Slot][v] = true
		case v.Overwrites() == nil && lies(v.Args, v.Slot):
			return fmt.Errorf("%s is written where an operand lies", v)
		case v.Overwrites() != nil && v.Overwrites().Slot != v.Slot:
			return fmt.Errorf("%s is not where %s lies", v, v.Overwrites())
		default:
			holds[v.Slot] = setOf(v)
		}
	}
	return nil
}

func lies(vs []*ir.Value, slot int) bool {
	for _, v := range vs {
		if v.Slot == slot {
			return true
		}
	}
	return false
}

// randomGraph returns a graph of elementwise ops, reshapes, slices and writes in
// place, that Verify accepts.
func randomGraph(r *rand.Rand) *ir.Graph {
	g := &ir.Graph{Name: "m"}
	flat, square := ir.Tensor(ir.F32, ir.T, ir.N(64)), ir.Tensor(ir.F32, ir.T, ir.N(8), ir.N(8))
	gone := set{}
	add := func(op *ir.Op, t ir.Type, attr any, args ...*ir.Value) {
		v, err := g.Add(op, t, attr, args...)
		if err != nil {
			panic(err)
		}
		if o := v.Overwrites(); o != nil {
			gone[o] = true
		}
	}
	add(ir.Input, ir.Tensor(ir.I32, ir.R), nil)
	add(ir.Input, ir.Tensor(ir.F32, ir.R, ir.N(64)), nil)
	add(ir.Input, flat, nil)
	rows, more := g.Values[0], g.Values[1]
	pick := func() *ir.Value {
		for {
			if v := g.Values[2+r.IntN(len(g.Values)-2)]; !gone[v] {
				return v
			}
		}
	}
	for range 2 + r.IntN(20) {
		v := pick()
		switch op := r.IntN(6); {
		case op == 0 && v.Type.Equal(flat):
			add(ir.Reshape, ir.Type{}, ir.ReshapeAttr{Dims: square.Dims}, v)
		case op == 0:
			add(ir.Reshape, ir.Type{}, ir.ReshapeAttr{Dims: flat.Dims}, v)
		case op == 1 && v.Type.Equal(flat):
			add(ir.ScatterAdd, ir.Type{}, ir.InplaceAttr{Inplace: 0}, v, more, rows)
		case op == 2 && v.Type.Equal(pick().Type):
			add(ir.Add, ir.Type{}, nil, v, v)
		case op == 3:
			add(ir.Quantize, ir.Type{}, ir.QuantizeAttr{To: ir.A8}, v)
			gone[g.Values[len(g.Values)-1]] = true // nothing here reads a8
		default:
			w := pick()
			if !w.Type.Equal(v.Type) {
				w = v
			}
			add(ir.Mul, ir.Type{}, nil, v, w)
		}
	}
	for range 1 + r.IntN(3) {
		g.Outputs = append(g.Outputs, pick())
	}
	return g
}
