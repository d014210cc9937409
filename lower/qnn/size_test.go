package qnn

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/native"
)

// expertText is an expert of OLMoE's size.
const expertText = `
graph expert0@R%[1]d
  %%1:x = input : f32[%[1]d,2048]
  %%2:w = input : f32[%[1]d]
  %%3:gate.weight = weight offset=0 : %[2]s[1024,2048]
  %%4:gate = matmul %%1 %%3 : f32[%[1]d,1024]
  %%5 = silu %%4 : f32[%[1]d,1024]
  %%6:up.weight = weight offset=0 : %[2]s[1024,2048]
  %%7:up = matmul %%1 %%6 : f32[%[1]d,1024]
  %%8 = mul %%5 %%7 : f32[%[1]d,1024]
  %%9:down.weight = weight offset=0 : %[2]s[2048,1024]
  %%10:down = matmul %%8 %%9 : f32[%[1]d,2048]
  %%11 = scale_rows %%10 %%2 : f32[%[1]d,2048]
  return %%11
`

// TestFullSize prepares an expert of OLMoE's size for three chips, in a process of
// its own, and tells what the compiler says that a run reads and spills.
func TestFullSize(t *testing.T) {
	library := filepath.Join(os.Getenv("ESTREAM_QNN_LIBS"), htp.library())
	if _, err := os.Stat(library); err != nil || os.Getenv("ESTREAM_QNN_LIBS") == "" {
		t.Skipf("ESTREAM_QNN_LIBS names no folder with %s: tools/qnn-libs installs it", htp.library())
	}
	whole := *htp
	whole.whole = true
	for _, c := range []struct {
		name, dtype string
		target      *target // nil: weights are part of the graph, as the library has int4
		soc         int
		rows        []int
		reads       float64 // most MiB that a run of the first may read
	}{
		{"f16", "f16", htp, 57, []int{1}, 12.5},
		{"f16", "f16", htp, 69, []int{1, 16}, 12.5},
		{"f16", "f16", htp, 87, []int{1}, 12.5},
		{"w8", "w8", htp, 69, []int{1, 16}, 6.5},
		{"a16w8", "w8", &whole, 57, []int{1}, 6.5},
		{"a16w8", "w8", &whole, 69, []int{1, 16}, 6.5},
		{"a16w8", "w8", &whole, 87, []int{1}, 6.5},
		{"int4", "w4g128", htp, 57, []int{1}, 3.5},
		{"int4", "w4g128", htp, 69, []int{1, 8, 16, 64, 128}, 3.5},
		{"int4", "w4g128", htp, 87, []int{1}, 3.5},
		{"int4 inside", "", nil, 57, []int{1}, 3.5},
		{"int4 inside", "", nil, 69, []int{1, 16, 64, 128}, 3.5},
		{"int4 inside", "", nil, 87, []int{1}, 3.5},
	} {
		for i, rows := range c.rows {
			desc, most := insideInt4(rows), 4<<20
			if c.target != nil {
				low, err := c.target.lower(parse(t, fmt.Sprintf(expertText, rows, c.dtype)))
				require.NoError(t, err)
				desc, most = low.desc, 1<<20 // weights are no part of it
			}
			job := &native.Job{Library: library, Start: native.Options{SoC: c.soc}, Graphs: []native.Desc{*desc}, Binary: true}
			r, err := native.Child{Command: []string{os.Args[0], "qnn-child"}}.Run(t.Context(), job)
			require.NoError(t, err)
			require.Less(t, len(r.Binary), most)
			read, spill := figure(t, r.Log, "read_total_bytes"), figure(t, r.Log, "spill_bytes")
			t.Logf("%-11s soc %d rows %3d: context %7d bytes, reads %5.2f MiB, spills %5.2f MiB", c.name, c.soc, rows, len(r.Binary), read, spill)
			if i == 0 {
				require.LessOrEqual(t, read, c.reads)
			}
		}
	}
}

// insideInt4 describes the expert with random weights that are part of the graph, in
// the library's own int4: codes in bytes, and a scale for each row.
func insideInt4(rows int) *native.Desc {
	const hidden, ffn = 2048, 1024
	d := &native.Desc{Name: fmt.Sprintf("inside@R%d", rows)}
	r := rand.New(rand.NewPCG(1, 2))
	tensor := func(t native.Tensor) string {
		d.Tensors = append(d.Tensors, t)
		return t.Name
	}
	half := func(name string, k native.Kind, n int) string {
		return tensor(native.Tensor{Name: name, Kind: k, Type: native.Float16, Dims: []int{rows, n}})
	}
	node := func(op, out string, in ...string) string {
		d.Nodes = append(d.Nodes, native.Node{Name: "to " + out, Op: op, In: in, Out: []string{out}})
		return out
	}
	linear := func(out string, x string, n, k int) string {
		w := native.Tensor{Name: out + ".weight", Kind: native.Static, Type: native.SFixed8, Dims: []int{n, k}, Quant: native.Quant{Bits: 4}}
		for range n * k {
			w.Data = append(w.Data, byte(r.IntN(15)-7))
		}
		for range n {
			w.Quant.Scales = append(w.Quant.Scales, 0.01+r.Float32()/100)
		}
		w.Quant.Offsets = make([]int32, n)
		return node("FullyConnected", out, x, tensor(w))
	}
	x := half("x", native.AppWrite, hidden)
	gate := linear(half("gate", native.Native, ffn), x, ffn, hidden)
	up := linear(half("up", native.Native, ffn), x, ffn, hidden)
	share := node("Sigmoid", half("share", native.Native, ffn), gate)
	silu := node("ElementWiseMultiply", half("silu", native.Native, ffn), gate, share)
	both := node("ElementWiseMultiply", half("both", native.Native, ffn), silu, up)
	linear(half("y", native.AppRead, hidden), both, hidden, ffn)
	return d
}

// figure returns a number of bytes that the compiler printed, in MiB; -1 where it
// prints none, as from QAIRT 2.51 on.
func figure(t *testing.T, log, name string) float64 {
	t.Helper()
	m := regexp.MustCompile(name + `=(\d+)`).FindStringSubmatch(log)
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	return float64(n) / (1 << 20)
}
