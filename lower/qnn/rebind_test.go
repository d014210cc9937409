package qnn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/qnn"
)

const gatedText = `
graph expert
  %1:x = input : f32[1,64]
  %2:gate.weight = weight offset=0 : w4g32[64,64]
  %3:gate = matmul %1 %2 : f32[1,64]
  %4 = silu %3 : f32[1,64]
  %5:up.weight = weight offset=0 : w4g32[64,64]
  %6:up = matmul %1 %5 : f32[1,64]
  %7 = mul %4 %6 : f32[1,64]
  %8:down.weight = weight offset=0 : w4g32[64,64]
  %9:down = matmul %7 %8 : f32[1,64]
  return %9
`

// A bank is experts that stand one after another in a memory, behind what they are
// given and before what they return.
type bank struct {
	t       *testing.T
	graph   *ir.Graph
	mem     lower.Mem
	in, out lower.Buffer
	experts [][]lower.Buffer
}

const bankExperts, bankSlot = 8, 16 << 10

func newBank(t *testing.T, g *ir.Graph, alloc func(bytes, align int64) (lower.Mem, error)) *bank {
	mem, err := alloc((bankExperts+2)*bankSlot, lower.Align)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mem.Free()) })
	at := func(off int64, x ir.Type, size int64) lower.Buffer {
		return lower.Buffer{Mem: mem, Off: off, Len: size, Type: x, Factor: 1}
	}
	b := &bank{t: t, graph: g, mem: mem}
	b.in = at(0, g.Inputs()[0].Type, lower.Size(g.Inputs()[0].Type))
	b.out = at(bankSlot, g.Outputs[0].Type, lower.Size(g.Outputs[0].Type))
	for e := range int64(bankExperts) {
		off, expert := (2+e)*bankSlot, []lower.Buffer(nil)
		for _, w := range g.Weights() {
			size, err := qnn.Packing().Size(w.Type)
			require.NoError(t, err)
			expert, off = append(expert, at(off, w.Type, size)), off+size
		}
		b.experts = append(b.experts, expert)
	}
	return b
}

// fill writes weights of an expert, and what it is given, from a seed.
func (b *bank) fill(expert int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, uint64(expert)))
	for i := range lower.F32(b.in.Bytes()) {
		lower.F32(b.in.Bytes())[i] = float32(r.NormFloat64())
	}
	for _, w := range b.experts[expert] {
		n, k := w.Type.Dims[0].N, w.Type.Dims[1].N
		m := &quant.Matrix{DType: w.Type.DType, N: n, K: k, Factor: 1}
		for range n * k {
			m.Q = append(m.Q, int8(r.IntN(15)-7))
		}
		for range n * k / 32 {
			m.Scale = append(m.Scale, quant.F16(0.01+r.Float32()/40))
		}
		require.NoError(b.t, qnn.Packing().Pack(w.Bytes(), m))
	}
}

// TestRebinds gives one graph other weights 1,000 times, by the address of an expert
// of a bank that is written anew each time, and compares with the host's kernels.
func TestRebinds(t *testing.T) {
	for _, c := range []struct {
		name   string
		device func(testing.TB) *qnn.Device
		within float64
	}{
		{"qnn-cpu", cpu, 1e-4},
		{"qnn-htp", func(t testing.TB) *qnn.Device { return htp(t, false) }, 3e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, d, worst := parse(t, gatedText), c.device(t), 0.0
			e, err := d.Compile(t.Context(), g, qnn.Packing())
			require.NoError(t, err)
			defer func() { require.NoError(t, e.Close()) }()
			onHost, err := host.New(host.Options{Threads: 1}).Compile(t.Context(), &ir.Module{Graphs: []*ir.Graph{g}}, qnn.Packing())
			require.NoError(t, err)
			defer func() { require.NoError(t, onHost.Close()) }()
			p, err := onHost.Program(g.Name)
			require.NoError(t, err)
			there, here := newBank(t, g, d.Alloc), newBank(t, g, onHost.Alloc)
			for i := range 1000 {
				x := i * 5 % bankExperts
				here.fill(x, uint64(i))
				copy(there.mem.Bytes(), here.mem.Bytes())
				require.NoError(t, e.Run(t.Context(), []lower.Buffer{there.in}, there.experts[x], []lower.Buffer{there.out}))
				require.NoError(t, p.Run(t.Context(), &lower.Call{In: []lower.Buffer{here.in}, Weights: here.experts[x], Out: []lower.Buffer{here.out}}))
				worst = max(worst, share(lower.F32(there.out.Bytes()), lower.F32(here.out.Bytes())))
			}
			t.Logf("%.2g of the largest value off", worst)
			require.LessOrEqual(t, worst, c.within)
		})
	}
}
