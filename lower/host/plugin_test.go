package host

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

type scaleAttr struct{ By float64 }

// double is an operator from outside, with an attribute.
var double = &ir.Op{Name: "scale", Operands: "t", Attr: scaleAttr{}, Infer: func(a []ir.Type, _ any) (ir.Type, error) { return a[0], nil }}

type countAttr struct{ ir.InplaceAttr }

// count is one that writes in place, its attribute embedding ir.InplaceAttr.
var count = &ir.Op{Name: "count", Operands: "t", Attr: countAttr{}, Infer: func(a []ir.Type, _ any) (ir.Type, error) { return a[0], nil }}

const pluginText = `
graph g
  %1:x = input : f32[T,4]
  %2 = scale %1 by=2.5 : f32[T,4]
  %3 = count %2 inplace=0 : f32[T,4]
  return %3
`

func TestOperatorFromOutside(t *testing.T) {
	m := parse(t, pluginText, double, count)
	b := New(Options{Threads: 3, Ops: map[*ir.Op]Func{
		double: func(x *Exec) error {
			by, in, out := float32(x.Attr.(scaleAttr).By), lower.F32(x.In[0].Bytes()), lower.F32(x.Out.Bytes())
			x.For(x.Out.Type.Dims[0].N, func(r int) {
				x.For(4, func(c int) { out[4*r+c] = by * in[4*r+c] })
			})
			return nil
		},
		count: func(x *Exec) error {
			out := lower.F32(x.Out.Bytes())
			for i := range out {
				out[i]++
			}
			return nil
		},
	}})
	for _, v := range m.Graphs[0].Values {
		require.NoError(t, b.Supports(v))
	}
	r := newRig(t, compiles(t, m, b, kernel.Packing), m.Graphs[0], lower.Dims{"T": 100}, nil)
	r.mustRun()
	got := lower.F32(r.call.Out[0].Bytes())
	for i, v := range r.in["x"].F {
		require.Equal(t, float32(2.5*v)+1, got[i], "element %d", i)
	}
}

// Float operands come as f32, as to the core's operators: weights stay in the
// checkpoint's type.
func TestOperatorTakesFloats(t *testing.T) {
	gain := &ir.Op{Name: "gain", Operands: "tt", Infer: func(a []ir.Type, _ any) (ir.Type, error) { return a[0], nil }}
	m := parse(t, "\ngraph g\n  %1:x = input : f32[T,4]\n  %2:w = weight offset=0 : bf16[4]\n  %3 = gain %1 %2 : f32[T,4]\n  return %3\n", gain)
	b := New(Options{Ops: map[*ir.Op]Func{gain: func(x *Exec) error {
		in, w, out := lower.F32(x.In[0].Bytes()), lower.F32(x.In[1].Bytes()), lower.F32(x.Out.Bytes())
		for i := range out {
			out[i] = in[i] * w[i%len(w)]
		}
		return nil
	}}})
	r := newRig(t, compiles(t, m, b, kernel.Packing), m.Graphs[0], lower.Dims{"T": 3}, nil)
	r.mustRun()
	for i, got := range lower.F32(r.call.Out[0].Bytes()) {
		require.Equal(t, r.in["x"].F[i]*r.in["w"].F[i%4], got, "element %d", i)
	}
}

func TestOperatorTwice(t *testing.T) {
	b := New(Options{Ops: map[*ir.Op]Func{ir.Add: func(*Exec) error { return nil }}})
	_, err := b.Compile(context.Background(), &ir.Module{}, kernel.Packing)
	require.EqualError(t, err, "host: operator add has two functions: Options.Ops must not name it")
	_, err = New(Options{}).Compile(context.Background(), &ir.Module{}, lower.Packing{Name: "empty"})
	require.EqualError(t, err, `host: packing "empty" cannot be read: it has no functions`)
}

// TestCancelWithin cancels while an instruction runs: its loop ends, and no
// instruction follows.
func TestCancelWithin(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := parse(t, pluginText, double, count)
	var items atomic.Int64
	after := false
	b := New(Options{Threads: 2, Ops: map[*ir.Op]Func{
		double: func(x *Exec) error {
			x.For(1<<20, func(int) {
				if n := items.Add(1); n == 10 {
					cancel()
				} else if n > 10 {
					<-ctx.Done() // however long the thread of the tenth takes to cancel it
				}
			})
			return errors.New("what comes of a loop that was cut off")
		},
		count: func(*Exec) error { after = true; return nil },
	}})
	r := newRig(t, compiles(t, m, b, kernel.Packing), m.Graphs[0], lower.Dims{"T": 1}, nil)
	require.Equal(t, context.Canceled, r.run(ctx))
	require.False(t, after)
	require.Less(t, items.Load(), int64(1<<19), "items of a loop that was cancelled at the tenth")
	require.Equal(t, context.Canceled, r.run(ctx), "a context that is cancelled already")
}

// TestLoop visits each item once, and reports the error of the lowest.
func TestLoop(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		c := newCompiled(&backend{threads: threads}, kernel.Packing)
		defer c.Close()
		x := &Exec{pool: c.pool}
		for _, n := range []int{0, 1, 2, 7, 1000} {
			for _, cost := range []int{0, 1, 100, 1 << 20} {
				visits := make([]atomic.Int32, n)
				err := c.pool.loop(x, n, cost, func(_ *Exec, from, to int) error {
					for i := from; i < to; i++ {
						visits[i].Add(1)
					}
					return nil
				})
				require.NoError(t, err)
				for i := range visits {
					require.Equal(t, int32(1), visits[i].Load(), "%d threads, %d items of cost %d: item %d", threads, n, cost, i)
				}
				err = c.pool.loop(x, n, cost, func(_ *Exec, from, to int) error {
					for i := from; i < to; i++ {
						if i%5 == 3 {
							return fmt.Errorf("item %d", i)
						}
					}
					return nil
				})
				if n > 3 {
					require.EqualError(t, err, "item 3", "%d threads, %d items of cost %d", threads, n, cost)
				}
			}
		}
	}
}

func TestAlloc(t *testing.T) {
	c := compiles(t, &ir.Module{}, nil, kernel.Packing)
	for _, n := range []int64{0, 1, 4097, 3 << 20} {
		for align := int64(64); align <= 16<<20; align *= 4 {
			m, err := c.Alloc(n, align)
			require.NoError(t, err)
			require.Len(t, m.Bytes(), int(n))
			for i, b := range m.Bytes() {
				if b != 0 {
					t.Fatalf("byte %d of %d is %d", i, n, b)
				}
			}
			if n > 0 {
				require.Zero(t, int64(reflect.ValueOf(m.Bytes()).Pointer())%align, "%d bytes at a multiple of %d", n, align)
			}
			require.NoError(t, m.Free())
			require.NoError(t, m.Free(), "freed twice")
		}
	}
	for _, bad := range [][2]int64{{-1, 64}, {64, 0}, {64, 48}, {math.MaxInt64, 1 << 20}, {1, 1 << 62}} {
		_, err := c.Alloc(bad[0], bad[1])
		require.Error(t, err, "%d bytes at a multiple of %d", bad[0], bad[1])
	}
}

// TestPanicWithin lets an operator's function panic on the goroutine of Run: the
// other threads are done with it when the panic comes out, and the pool goes on.
func TestPanicWithin(t *testing.T) {
	c := newCompiled(&backend{threads: 4}, kernel.Packing)
	defer c.Close()
	x := &Exec{pool: c.pool}
	for range 20 {
		var at atomic.Int32
		var first atomic.Bool
		require.Panics(t, func() {
			x.For(1000, func(int) {
				at.Add(1)
				defer at.Add(-1)
				if onCaller() && first.CompareAndSwap(false, true) {
					panic("within")
				}
				for !first.Load() { // until the caller has begun on an item, the others do not take them all
					time.Sleep(20 * time.Microsecond)
				}
				time.Sleep(20 * time.Microsecond)
			})
		})
		require.Zero(t, at.Load(), "calls still under way")
		var items atomic.Int32
		x.For(100, func(int) { items.Add(1) })
		require.Equal(t, int32(100), items.Load())
	}
}

// onCaller reports whether it runs on the goroutine of the test, not on a member of the team.
func onCaller() bool {
	stack := make([]byte, 16<<10)
	return !strings.Contains(string(stack[:goruntime.Stack(stack, false)]), "(*team).member")
}
