package qnn

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/native"
)

var shared = flag.Bool("shared", false, "compare one shared graph with a context for each expert, and print a table")

// Of the experts that TestShared compares: OLMoE's at a quarter of its width, as
// emulation is slow.
const sharedExperts, sharedHidden, sharedFFN, sharedRows = 32, 512, 256, 4

const sharedText = `
graph expert0@R%[1]d
  %%1:x = input : f32[%[1]d,%[2]d]
  %%2:w = input : f32[%[1]d]
  %%3:gate.weight = weight offset=0 : %[4]s[%[3]d,%[2]d]
  %%4:gate = matmul %%1 %%3 : f32[%[1]d,%[3]d]
  %%5 = silu %%4 : f32[%[1]d,%[3]d]
  %%6:up.weight = weight offset=0 : %[4]s[%[3]d,%[2]d]
  %%7:up = matmul %%1 %%6 : f32[%[1]d,%[3]d]
  %%8 = mul %%5 %%7 : f32[%[1]d,%[3]d]
  %%9:down.weight = weight offset=0 : %[4]s[%[2]d,%[3]d]
  %%10:down = matmul %%8 %%9 : f32[%[1]d,%[2]d]
  %%11 = scale_rows %%10 %%2 : f32[%[1]d,%[2]d]
  return %%11
`

// An expertSet is experts that a library can run in one of two ways.
type expertSet struct {
	t       *testing.T
	target  *target
	low     *lowered
	weights [][][]byte // of each expert, the inputs that are weights, by place; nil: not a weight
	backend *native.Backend
}

// TestShared prints what it costs to have many experts as one graph that binds
// their weights, and as a context each, with weights inside.
func TestShared(t *testing.T) {
	if !*shared {
		t.Skip("-shared compares, which takes a minute")
	}
	for _, c := range []struct {
		target *target
		soc    int
		dtype  string
	}{{cpu, 0, "f32"}, {htp, 69, "f16"}} {
		low, err := c.target.lower(parse(t, fmt.Sprintf(sharedText, sharedRows, sharedHidden, sharedFFN, c.dtype)))
		require.NoError(t, err)
		s := &expertSet{t: t, target: c.target, low: low, backend: started(t, c.target, c.soc)}
		s.draw()
		one := s.measure("shared", 1, func(int) native.Desc { return *low.desc })
		each := s.measure("a context each", sharedExperts, s.fixed)
		for e := range sharedExperts {
			require.Equal(t, each[e], one[e], "expert %d", e)
		}
	}
}

// draw makes each expert's weights.
func (s *expertSet) draw() {
	r := rand.New(rand.NewPCG(1, 2))
	for range sharedExperts {
		var weights [][]byte
		for i, in := range s.low.desc.Inputs() {
			var b []byte
			if s.low.in[i].weight {
				b = s.numbers(r, in, 0.05)
			}
			weights = append(weights, b)
		}
		s.weights = append(s.weights, weights)
	}
}

func (s *expertSet) numbers(r *rand.Rand, t native.Tensor, scale float32) []byte {
	x := make([]float32, t.Bytes()/t.Type.Size())
	for i := range x {
		x[i] = scale * float32(r.NormFloat64())
	}
	b := make([]byte, t.Bytes())
	to := ir.F32
	if t.Type == native.Float16 {
		to = ir.F16
	}
	lower.Encode(b, x, to)
	return b
}

// fixed is the graph of expert e with its weights inside.
func (s *expertSet) fixed(e int) native.Desc {
	d := *s.low.desc
	d.Tensors = slices.Clone(d.Tensors)
	for i, in := range s.low.desc.Inputs() {
		if s.low.in[i].weight {
			at := &d.Tensors[slices.IndexFunc(d.Tensors, func(x native.Tensor) bool { return x.Name == in.Name })]
			at.Kind, at.Data = native.Static, s.weights[e][i]
		}
	}
	return d
}

// measure prints what n contexts take, and returns each expert's result.
func (s *expertSet) measure(name string, n int, desc func(e int) native.Desc) [][]byte {
	t := s.t
	var files [][]byte
	bytes := 0
	for e := range n {
		if s.target.half() {
			path := filepath.Join(os.Getenv("ESTREAM_QNN_LIBS"), s.target.library())
			job := &native.Job{Library: path, Start: native.Options{SoC: 69}, Graphs: []native.Desc{desc(e)}, Binary: true}
			r, err := native.Child{Command: []string{os.Args[0], "qnn-child"}}.Run(t.Context(), job)
			require.NoError(t, err)
			files = append(files, r.Binary)
			bytes += len(r.Binary)
		}
	}
	debug.FreeOSMemory()
	before, begun := residentBytes(t), time.Now()
	var calls []*native.Call
	for e := range n {
		var c *native.Context
		var g *native.Graph
		var err error
		d := desc(e)
		if s.target.half() {
			c, err = s.backend.FromBinary(files[e])
			require.NoError(t, err)
			g, err = c.Retrieve(s.signature(files[e], d))
		} else {
			c, err = s.backend.NewContext()
			require.NoError(t, err)
			g, err = c.Build(&d, native.GraphOptions{})
		}
		require.NoError(t, err)
		call, err := g.NewCall()
		require.NoError(t, err)
		calls = append(calls, call)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		defer call.Close()
	}
	load := time.Since(begun)
	debug.FreeOSMemory()
	loaded := residentBytes(t) - before
	out, first, run := s.run(calls)
	debug.FreeOSMemory()
	t.Logf("%s, %-14s: %2d contexts of %8d bytes in all; loading %7.1f ms; resident %6.1f MiB loaded, %6.1f MiB after a run of each; the first run of each %6.2f ms, later ones %6.2f ms",
		s.target.name, name, n, bytes, ms(load), mib(loaded), mib(residentBytes(t)-before), ms(first)/sharedExperts, ms(run)/(3*sharedExperts))
	return out
}

// run runs every expert four times, one after another, and returns what the first
// round and the others took.
func (s *expertSet) run(calls []*native.Call) (outs [][]byte, first, others time.Duration) {
	inputs := s.low.desc.Inputs()
	r := rand.New(rand.NewPCG(3, 4))
	given := make([][]byte, len(inputs))
	for i, in := range inputs {
		if !s.low.in[i].weight {
			given[i] = s.numbers(r, in, 1)
		}
	}
	for round := range 4 {
		begun := time.Now()
		for e := range sharedExperts {
			var in [][]byte
			for i := range inputs {
				switch {
				case !s.low.in[i].weight:
					in = append(in, given[i])
				case len(calls) == 1:
					in = append(in, s.weights[e][i])
				}
			}
			y := make([]byte, s.low.desc.Outputs()[0].Bytes())
			require.NoError(s.t, calls[e%len(calls)].Execute(in, [][]byte{y}))
			if round == 0 {
				outs = append(outs, y)
			}
		}
		if round == 0 {
			first = time.Since(begun)
		} else {
			others += time.Since(begun)
		}
	}
	return outs, first, others
}

func (s *expertSet) signature(binary []byte, d native.Desc) native.Signature {
	system, err := native.OpenSystem(filepath.Join(os.Getenv("ESTREAM_QNN_LIBS"), "libQnnSystem.so"))
	require.NoError(s.t, err)
	m, err := system.Metadata(binary)
	require.NoError(s.t, err)
	sig, err := match(&d, m.Graphs[0])
	require.NoError(s.t, err)
	return sig
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func mib(n int) float64          { return float64(n) / (1 << 20) }

func residentBytes(t *testing.T) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(stat))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}
