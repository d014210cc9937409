package native

import (
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/x448/float16"
)

// childArgument makes this test's executable a child.
const childArgument = "qnn-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childArgument {
		if len(os.Args) > 2 {
			misbehave(os.Args[2])
		}
		Serve()
	}
	os.Exit(m.Run())
}

// misbehave is a child in whose library a call does not return, or aborts.
func misbehave(how string) {
	enc := gob.NewEncoder(os.NewFile(reports, "reports"))
	if enc.Encode(report{Call: "graphFinalize", Of: "graph g"}) != nil {
		os.Exit(1)
	}
	if how == "abort" {
		self, err := os.FindProcess(os.Getpid())
		if err != nil || self.Signal(syscall.SIGABRT) != nil {
			os.Exit(1)
		}
	}
	signal.Ignore(os.Interrupt)
	time.Sleep(time.Hour)
}

func child() Child { return Child{Command: []string{os.Args[0], childArgument}} }

// library returns the path of one of the vendor's libraries.
func library(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv("ESTREAM_QNN_LIBS")
	if dir == "" {
		t.Skip("ESTREAM_QNN_LIBS names no folder of QNN's libraries: tools/qnn-libs installs one")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("this QAIRT has no such library: %v", err)
	}
	return path
}

// A target is a library and the numbers that it computes with.
type target struct {
	library string
	start   Options
	graph   GraphOptions
	dtype   DType
}

// v79 is the SoC whose arch HTP prepares for in tests.
const v79 = 69

var (
	cpu = target{library: "libQnnCpu.so", dtype: Float32}
	htp = target{library: "libQnnHtp.so", start: Options{SoC: v79}, graph: GraphOptions{PreciseSigmoid: true}, dtype: Float16}
)

// open returns the target's backend, closed when the test ends.
func (x target) open(t testing.TB) *Backend {
	t.Helper()
	l, err := Open(library(t, x.library))
	require.NoError(t, err)
	b, err := l.Start(x.start)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// newContext returns a context of b, closed when the test ends.
func newContext(t testing.TB, b *Backend) *Context {
	t.Helper()
	c, err := b.NewContext()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// linear describes y = x * w^T, of M, K and N, with w an input.
func linear(name string, d DType, m, k, n int) *Desc {
	return &Desc{
		Name: name,
		Tensors: []Tensor{
			{Name: "x", Kind: AppWrite, Type: d, Dims: []int{m, k}},
			{Name: "w", Kind: AppWrite, Type: d, Dims: []int{n, k}},
			{Name: "y", Kind: AppRead, Type: d, Dims: []int{m, n}},
		},
		Nodes: []Node{{
			Name: "product", Op: "MatMul", In: []string{"x", "w"}, Out: []string{"y"},
			Params: []Param{Bool("transpose_in0", false), Bool("transpose_in1", true)},
		}},
	}
}

// expert describes y = down(silu(gate(x)) * up(x)) with its weights as inputs.
func expert(name string, d DType, m, hidden, ffn int) *Desc {
	desc := &Desc{Name: name}
	tensor := func(name string, k Kind, dims ...int) string {
		desc.Tensors = append(desc.Tensors, Tensor{Name: name, Kind: k, Type: d, Dims: dims})
		return name
	}
	node := func(op, out string, in ...string) {
		n := Node{Name: "to." + out, Op: op, In: in, Out: []string{out}}
		if op == "MatMul" {
			n.Params = []Param{Bool("transpose_in0", false), Bool("transpose_in1", true)}
		}
		desc.Nodes = append(desc.Nodes, n)
	}
	x := tensor("x", AppWrite, m, hidden)
	gate, up, down := tensor("gate.w", AppWrite, ffn, hidden), tensor("up.w", AppWrite, ffn, hidden), tensor("down.w", AppWrite, hidden, ffn)
	for _, name := range []string{"gate", "up", "sigmoid", "gated", "h"} {
		tensor(name, Native, m, ffn)
	}
	y := tensor("y", AppRead, m, hidden)
	node("MatMul", "gate", x, gate)
	node("MatMul", "up", x, up)
	node("Sigmoid", "sigmoid", "gate")
	node("ElementWiseMultiply", "gated", "sigmoid", "up") // not of gate: HTP fuses that into a coarse silu
	node("ElementWiseMultiply", "h", "gated", "gate")
	node("MatMul", y, "h", down)
	return desc
}

// expertOf computes what expert describes.
func expertOf(x, gate, up, down []float64, m, hidden, ffn int) []float64 {
	a, b := product(x, gate, m, hidden, ffn), product(x, up, m, hidden, ffn)
	for i := range a {
		a[i] *= b[i] / (1 + math.Exp(-a[i]))
	}
	return product(a, down, m, ffn, hidden)
}

func product(x, w []float64, m, k, n int) []float64 {
	y := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for l := range k {
				y[i*n+j] += x[i*k+l] * w[j*k+l]
			}
		}
	}
	return y
}

// random returns n numbers that d holds exactly, and their bytes.
func random(r *rand.Rand, d DType, n int, scale float64) ([]float64, []byte) {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64() * scale
	}
	b := encode(d, v)
	return decode(d, b), b
}

func encode(d DType, v []float64) []byte {
	var b []byte
	for _, f := range v {
		switch d {
		case Float32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		case Float16:
			b = binary.LittleEndian.AppendUint16(b, float16.Fromfloat32(float32(f)).Bits())
		default:
			panic(fmt.Sprint("encode ", d))
		}
	}
	return b
}

func decode(d DType, b []byte) []float64 {
	var v []float64
	for ; len(b) > 0; b = b[d.Size():] {
		if d == Float32 {
			v = append(v, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		} else {
			v = append(v, float64(float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()))
		}
	}
	return v
}

// tolerance is of the largest element: on CPU sums are rounded to f32, on HTP each
// of the six results from x to y is rounded to f16, by up to 5e-4 of itself.
func (x target) tolerance() float64 {
	if x.dtype == Float32 {
		return 1e-5
	}
	return 2e-3
}

// worst returns how far got is from want, of the largest element of want.
func worst(want, got []float64) float64 {
	largest, off := 0.0, 0.0
	for i := range want {
		largest = max(largest, math.Abs(want[i]))
		off = max(off, math.Abs(want[i]-got[i]))
	}
	return off / largest
}

// requireClose compares numbers, with a tolerance relative to the largest of want.
func requireClose(t testing.TB, want, got []float64, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want))
	if worst(want, got) <= tolerance {
		return
	}
	for i := range want {
		if off := worst(want, append(append(want[:i:i], got[i]), want[i+1:]...)); !(off <= tolerance) {
			t.Fatalf("element %d: got %g, want %g, off by %g of the largest, which is more than %g", i, got[i], want[i], off, tolerance)
		}
	}
}
