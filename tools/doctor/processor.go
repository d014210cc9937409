package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"

	"estream/ir"
	"estream/ir/interp"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/host/kernel"
)

func (r *Report) processor(ctx context.Context) {
	const area = "processor"
	var names []string
	for _, s := range kernel.Sets() {
		names = append(names, s.String())
	}
	r.add(area, "cores", OK, fmt.Sprintf("%d of %s, %d used", runtime.NumCPU(), runtime.GOARCH, runtime.GOMAXPROCS(0)), "")
	best, err := kernel.Best()
	if err != nil {
		r.add(area, "instructions", Wrong, err.Error(), "unset "+kernel.Variable+", or set it to one of "+strings.Join(names, ", "))
		return
	}
	if len(names) == 1 {
		r.add(area, "instructions", Note, best.String()+": plain Go, many times slower than AVX2 or NEON", "")
	} else {
		r.add(area, "instructions", OK, best.String()+", of "+strings.Join(names, ", "), "")
	}
	if err := arithmetic(ctx, best); err != nil {
		r.add(area, "arithmetic", Wrong, err.Error(), "try another of "+kernel.Variable+"="+strings.Join(names, ", "))
		return
	}
	r.add(area, "arithmetic", OK, "products of f32 and int4 are as the reference computes them", "")
}

// sums is a graph of a product of floats and one of integers.
const sums = `
graph sums
  %1:x = input : f32[5,256]
  %2:a = weight offset=0 : f32[96,256]
  %3:b = weight offset=0 : w4g64[96,256]
  %4 = matmul %1 %2 : f32[5,96]
  %5 = quantize %1 to=a8 : a8[5,256]
  %6 = matmul %5 %3 : f32[5,96]
  %7 = add %4 %6 : f32[5,96]
  return %7
`

// arithmetic computes sums with a set of kernels and compares it with the reference.
func arithmetic(ctx context.Context, set *kernel.Set) (err error) {
	ops, err := ir.Core()
	if err != nil {
		return err
	}
	m, err := ir.Parse(sums, ops)
	if err != nil {
		return err
	}
	given, call, err := operands(m.Graphs[0])
	if err != nil {
		return err
	}
	want, err := interp.Eval(nil, m.Graphs[0], given, interp.Options{})
	if err != nil {
		return err
	}
	c, err := host.New(host.Options{Kernels: set}).Compile(ctx, m, kernel.Packing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	got := make([]float32, len(want[0].F))
	call.Out = []lower.Buffer{{Mem: lower.Wrap(got), Len: int64(4 * len(got)), Type: want[0].Type}}
	p, err := c.Program("sums")
	if err != nil {
		return err
	}
	if err := p.Run(ctx, call); err != nil {
		return err
	}
	return alike(got, want[0].F)
}

// operands are random inputs and weights of a graph, for the reference and packed.
func operands(g *ir.Graph) (map[string]*interp.Tensor, *lower.Call, error) {
	given, call := map[string]*interp.Tensor{}, &lower.Call{}
	random := rand.New(rand.NewPCG(1, 2))
	for _, v := range g.Values {
		if v.Op != ir.Input && v.Op != ir.Weight {
			continue
		}
		n, k := v.Type.Dims[0].N, v.Type.Dims[1].N
		f := make([]float32, n*k)
		for i := range f {
			f[i] = float32(random.NormFloat64())
		}
		if v.Op == ir.Input {
			given[v.Name] = interp.New(v.Type)
			copy(given[v.Name].F, f)
			call.In = append(call.In, lower.Buffer{Mem: lower.Wrap(f), Len: int64(4 * len(f)), Type: v.Type})
			continue
		}
		q, err := quant.Encode(v.Type.DType, n, k, f)
		if err != nil {
			return nil, nil, err
		}
		size, err := kernel.Packing.Size(v.Type)
		if err != nil {
			return nil, nil, err
		}
		mem := lower.Wrap(make([]float32, size/4))
		if err := kernel.Packing.Pack(mem.Bytes(), q); err != nil {
			return nil, nil, err
		}
		given[v.Name] = interp.Matrix(q)
		call.Weights = append(call.Weights, lower.Buffer{Mem: mem, Len: size, Type: v.Type, Factor: q.Factor})
	}
	return given, call, nil
}

// alike reports the worst element that is off by more than rounding explains.
func alike(got, want []float32) error {
	const tolerance = 1e-4 // of the largest
	top, worst, at := 0.0, 0.0, 0
	for i, w := range want {
		top = max(top, math.Abs(float64(w)))
		if d := math.Abs(float64(got[i]) - float64(w)); d > worst || d != d {
			worst, at = d, i
		}
	}
	if !(worst <= tolerance*top) {
		return fmt.Errorf("element %d of a product is %v, and should be %v", at, got[at], want[at])
	}
	return nil
}
