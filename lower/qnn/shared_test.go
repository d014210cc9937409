package qnn

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
const sharedExperts, sharedHidden, sharedFFN, sharedRows = 32, 512, 256, 1

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
	t        *testing.T
	target   *target
	mode     string
	contexts int
	low      *lowered
	weights  [][][]byte // of each expert, the inputs that are weights, by place; nil: not a weight
	backend  *native.Backend
}

// sharedVariable tells TestSharedOne what to measure and where binaries are.
const sharedVariable = "QNN_TEST_SHARED"

// TestShared prints what it costs to have many experts as one graph that binds
// their weights, and as a context each, with weights inside. Each is measured in
// a process of its own; results are the same.
func TestShared(t *testing.T) {
	if !*shared {
		t.Skip("-shared compares, which takes a minute")
	}
	for _, name := range []string{"cpu", "htp"} {
		sums := map[string]bool{}
		for _, mode := range []string{"shared", "each"} {
			dir := t.TempDir()
			s := newExpertSet(t, name, mode)
			s.prepare(dir)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSharedOne$", "-test.v")
			cmd.Env = append(os.Environ(), sharedVariable+"="+name+","+mode+","+dir)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			m := regexp.MustCompile(`measured (.*); results (\w+)`).FindSubmatch(out)
			require.NotNil(t, m, "%s", out)
			t.Logf("%s", m[1])
			sums[string(m[2])] = true
		}
		require.Len(t, sums, 1, "%s: results differ", name)
	}
}

// TestSharedOne measures one way, for TestShared.
func TestSharedOne(t *testing.T) {
	f := strings.Split(os.Getenv(sharedVariable), ",")
	if len(f) != 3 {
		t.Skip("TestShared says what to measure")
	}
	newExpertSet(t, f[0], f[1]).measure(f[2])
}

func newExpertSet(t *testing.T, name, mode string) *expertSet {
	t.Helper()
	s := &expertSet{t: t, target: cpu, mode: mode, contexts: sharedExperts}
	dtype, soc := "f32", 0
	if name == "htp" {
		s.target, dtype, soc = htp, "f16", 69
	}
	if mode == "shared" {
		s.contexts = 1
	}
	var err error
	s.low, err = s.target.lower(parse(t, fmt.Sprintf(sharedText, sharedRows, sharedHidden, sharedFFN, dtype)))
	require.NoError(t, err)
	s.backend = started(t, s.target, soc)
	s.draw()
	return s
}

// desc is the graph of context e.
func (s *expertSet) desc(e int) native.Desc {
	if s.contexts == 1 {
		return *s.low.desc
	}
	return s.fixed(e)
}

// prepare writes a binary for each context, where the library has such.
func (s *expertSet) prepare(dir string) {
	if !s.target.half() {
		return
	}
	library := filepath.Join(os.Getenv("ESTREAM_QNN_LIBS"), s.target.library())
	for e := range s.contexts {
		job := &native.Job{Library: library, Start: native.Options{SoC: 69}, Graphs: []native.Desc{s.desc(e)}, Binary: true}
		r, err := native.Child{Command: []string{os.Args[0], "qnn-child"}}.Run(s.t.Context(), job)
		require.NoError(s.t, err)
		require.NoError(s.t, os.WriteFile(filepath.Join(dir, strconv.Itoa(e)), r.Binary, 0o666))
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

// load makes context e, and returns the size of its binary.
func (s *expertSet) load(dir string, e int) (*native.Context, *native.Graph, int) {
	d := s.desc(e)
	if !s.target.half() {
		c, err := s.backend.NewContext()
		require.NoError(s.t, err)
		g, err := c.Build(&d, native.GraphOptions{})
		require.NoError(s.t, err)
		return c, g, 0
	}
	binary, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(e)))
	require.NoError(s.t, err)
	c, err := s.backend.FromBinary(binary)
	require.NoError(s.t, err)
	g, err := c.Retrieve(s.signature(binary, d))
	require.NoError(s.t, err)
	return c, g, len(binary)
}

// measure prints what the contexts take, and a sum of the results.
func (s *expertSet) measure(dir string) {
	t := s.t
	debug.FreeOSMemory()
	before, begun, bytes := residentBytes(t), time.Now(), 0
	var calls []*native.Call
	for e := range s.contexts {
		c, g, n := s.load(dir, e)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		call, err := g.NewCall()
		require.NoError(t, err)
		defer call.Close()
		calls, bytes = append(calls, call), bytes+n
	}
	load := time.Since(begun)
	debug.FreeOSMemory()
	loaded := residentBytes(t) - before
	out, first, run := s.run(calls)
	debug.FreeOSMemory()
	t.Logf("measured | %s | %s | %d | %.1f | %.0f | %.1f | %.1f | %.2f | %.2f |; results %x",
		s.target.name, s.mode, s.contexts, mib(bytes), ms(load), mib(loaded), mib(residentBytes(t)-before), ms(first)/sharedExperts, ms(run)/sharedExperts, sha256.Sum256(slices.Concat(out...)))
}

// run runs every expert twice, one after another, and returns what the rounds took.
func (s *expertSet) run(calls []*native.Call) (outs [][]byte, first, second time.Duration) {
	inputs := s.low.desc.Inputs()
	r := rand.New(rand.NewPCG(3, 4))
	given := make([][]byte, len(inputs))
	for i, in := range inputs {
		if !s.low.in[i].weight {
			given[i] = s.numbers(r, in, 1)
		}
	}
	for round := range 2 {
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
			second = time.Since(begun)
		}
	}
	return outs, first, second
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
