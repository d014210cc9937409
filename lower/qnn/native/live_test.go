package native

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var targets = []target{cpu, htp}

// each runs a test on both targets.
func each(t *testing.T, test func(t *testing.T, x target)) {
	for _, x := range targets {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(x.library, "libQnn"), ".so"), func(t *testing.T) { test(t, x) })
	}
}

// call builds d in c and returns a Call of it.
func (x target) call(t testing.TB, c *Context, d *Desc) *Call {
	t.Helper()
	g, err := c.Build(d, x.graph)
	require.NoError(t, err)
	call, err := g.NewCall()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, call.Close()) })
	return call
}

// The expert's shape in these tests.
const rows, hidden, ffn = 8, 64, 32

// An experiment is the expert's inputs and what it must return for them.
type experiment struct {
	in   [][]byte
	want []float64
}

func newExperiment(r *rand.Rand, d DType) experiment {
	x, bx := random(r, d, rows*hidden, 1)
	gate, bg := random(r, d, ffn*hidden, 0.125)
	up, bu := random(r, d, ffn*hidden, 0.125)
	down, bd := random(r, d, ffn*hidden, 0.2)
	return experiment{[][]byte{bx, bg, bu, bd}, expertOf(x, gate, up, down, rows, hidden, ffn)}
}

func TestExpert(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		c := x.call(t, newContext(t, x.open(t)), expert("expert", x.dtype, rows, hidden, ffn))
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			e := newExperiment(r, x.dtype)
			y := make([]byte, rows*hidden*x.dtype.Size())
			require.NoError(t, c.Execute(e.in, [][]byte{y}))
			requireClose(t, e.want, decode(x.dtype, y), x.tolerance())
		}
	})
}

// TestRebind gives each of 1,000 executions other buffers.
func TestRebind(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		c := x.call(t, newContext(t, x.open(t)), linear("linear", x.dtype, 2, 32, 16))
		r := rand.New(rand.NewPCG(3, 4))
		for range 1000 {
			vx, in := random(r, x.dtype, 2*32, 1)
			vw, w := random(r, x.dtype, 16*32, 0.2)
			y := make([]byte, 2*16*x.dtype.Size())
			require.NoError(t, c.Execute([][]byte{in, w}, [][]byte{y}))
			requireClose(t, product(vx, vw, 2, 32, 16), decode(x.dtype, y), x.tolerance())
		}
	})
}

func TestConcurrentGraphs(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		context := newContext(t, x.open(t))
		var wg sync.WaitGroup
		for i := range 2 {
			c := x.call(t, context, expert("expert"+strconv.Itoa(i), x.dtype, rows, hidden, ffn))
			r := rand.New(rand.NewPCG(uint64(i), 5))
			wg.Go(func() {
				y := make([]byte, rows*hidden*x.dtype.Size())
				for range 30 {
					e := newExperiment(r, x.dtype)
					if err := c.Execute(e.in, [][]byte{y}); err != nil {
						t.Error(err)
						return
					}
					if off := worst(e.want, decode(x.dtype, y)); !(off <= x.tolerance()) {
						t.Errorf("off by %g of the largest element, more than %g", off, x.tolerance())
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestMemoryIsFlat allows 2 MiB, which is 200 bytes an execution: a leak of one
// tensor array would be five times that.
func TestMemoryIsFlat(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		c := x.call(t, newContext(t, x.open(t)), linear("linear", x.dtype, 1, 32, 32))
		in := [][]byte{make([]byte, 32*x.dtype.Size()), make([]byte, 32*32*x.dtype.Size())}
		out := [][]byte{make([]byte, 32*x.dtype.Size())}
		run := func(n int) {
			for range n {
				require.NoError(t, c.Execute(in, out))
			}
		}
		run(1000)
		left := 2 << 20
		for tries := 0; tries < 5 && left >= 2<<20; tries++ { // a library takes what it keeps for itself at a time of its own
			before := resident(t)
			run(10_000)
			left = resident(t) - before
		}
		require.Less(t, left, 2<<20, "bytes that 10,000 executions left")
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { run(1) }), 0.0, "allocations of an execution")
	})
}

// resident returns the resident memory of this process in bytes.
func resident(t testing.TB) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(stat))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

func TestSeveralGraphsInOneContext(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		c := newContext(t, x.open(t))
		r := rand.New(rand.NewPCG(5, 6))
		vw, w := random(r, x.dtype, 16*32, 0.2)
		for _, m := range []int{1, 8, 32} {
			vx, in := random(r, x.dtype, m*32, 1)
			y := make([]byte, m*16*x.dtype.Size())
			require.NoError(t, x.call(t, c, linear("rows"+strconv.Itoa(m), x.dtype, m, 32, 16)).Execute([][]byte{in, w}, [][]byte{y}))
			requireClose(t, product(vx, vw, m, 32, 16), decode(x.dtype, y), x.tolerance())
		}
	})
}

// TestConstantsAreCopied shows that C needs the data of a description until it is
// built, and no longer.
func TestConstantsAreCopied(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		r := rand.New(rand.NewPCG(7, 8))
		vw, w := random(r, x.dtype, 16*32, 0.2)
		vx, in := random(r, x.dtype, 4*32, 1)
		d := linear("linear", x.dtype, 4, 32, 16)
		d.Tensors[1].Kind, d.Tensors[1].Data = Static, w
		c := x.call(t, newContext(t, x.open(t)), d)
		clear(w)
		y := make([]byte, 4*16*x.dtype.Size())
		require.NoError(t, c.Execute([][]byte{in}, [][]byte{y}))
		requireClose(t, product(vx, vw, 4, 32, 16), decode(x.dtype, y), x.tolerance())
	})
}

func TestExecuteRefuses(t *testing.T) {
	each(t, func(t *testing.T, x target) {
		context := newContext(t, x.open(t))
		c := x.call(t, context, linear("linear", x.dtype, 4, 32, 16))
		size := x.dtype.Size()
		xs, w, y := make([]byte, 4*32*size), make([]byte, 16*32*size), make([]byte, 4*16*size)
		long := append(bytes.Clone(w), 0)
		type buffers = [][]byte
		for _, test := range []struct {
			name    string
			in, out buffers
			want    string
		}{
			{"too few", buffers{xs}, buffers{y}, "graph linear: 1 inputs, want 2"},
			{"too many", buffers{xs, w}, buffers{y, y}, "graph linear: 2 outputs, want 1"},
			{"short", buffers{xs, w[1:]}, buffers{y}, "graph linear: input w has %d bytes, want %d for %s[16 32]"},
			{"long", buffers{xs, long}, buffers{y}, "graph linear: input w has %d bytes, want %d for %s[16 32]"},
			{"none", buffers{xs, w}, buffers{nil}, "graph linear: output y has 0 bytes, want %d for %s[4 16]"},
		} {
			want := test.want
			switch test.name {
			case "short", "long":
				want = fmt.Sprintf(want, len(test.in[1]), len(w), x.dtype)
			case "none":
				want = fmt.Sprintf(want, len(y), x.dtype)
			}
			require.EqualError(t, c.Execute(test.in, test.out), want, test.name)
		}
		require.NoError(t, c.Execute(buffers{xs, w}, buffers{y}), "after refusals")
		require.NoError(t, c.Close())
		require.EqualError(t, c.Execute(buffers{xs, w}, buffers{y}), "graph linear: the call is closed")
	})
}
