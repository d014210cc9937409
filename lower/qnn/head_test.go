package qnn_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// withHead are tiers with rows of the head, more than the prompts have and fewer.
var withHead = passes.Tiers{T: []int{16}, S: []int{64}, R: []int{2, 8}, L: []int{1, 16}}

// TestCPUHead runs norm and projection of each family on the reference library.
func TestCPUHead(t *testing.T) {
	device := static.New(cpu(t), withHead)
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			g := goldenOf(t, family)
			m := opened(t, packed(t, family, "f32"), runtime.Options{Device: device})
			require.Equal(t, []string{"head.norm", "head.proj"}, headOn(m, "qnn-cpu"))
			for _, prompt := range []string{"p1", "p33", "batch"} {
				res, err := m.Run(t.Context(), runtime.Batch{Prompts: g.ids(prompt + ".input_ids"), Logits: runtime.All})
				require.NoError(t, err)
				g.require(prompt+".logits", res.Logits, 1e-3)
			}
		})
	}
}

// TestHeadOfEncodings runs the head in each type that packages have it in, and
// compares each run with the interpreter's.
func TestHeadOfEncodings(t *testing.T) {
	for _, name := range []string{"cpu", "htp"} {
		for _, encoding := range []string{"f32", "bf16", "w8"} {
			t.Run(fmt.Sprint(name, " ", encoding), func(t *testing.T) {
				d, within := cpu, 1e-3
				if name == "htp" {
					d, within = func(t testing.TB) *qnn.Device { return htp(t, false) }, 3e-3
				}
				b := runtime.Batch{Prompts: goldenOf(t, "olmoe").ids("p33.input_ids"), Logits: runtime.All}
				dir := packed(t, "olmoe", encoding)
				j := judged(d(t), false)
				m := opened(t, dir, runtime.Options{Device: static.New(j, passes.Tiers{T: []int{64}, S: []int{1}, R: []int{64}, L: []int{1, 16}})})
				require.Equal(t, []string{"head.norm", "head.proj"}, headOn(m, j.Name()))
				_, err := m.Run(t.Context(), b)
				require.NoError(t, err)
				for _, graph := range []string{"head.norm", "head.proj"} {
					require.Contains(t, j.off, graph)
					require.LessOrEqual(t, j.off[graph], within, graph)
				}
			})
		}
	}
}

func headOn(m *runtime.Model, device string) []string {
	return slices.DeleteFunc(onDevice(m, device), func(g string) bool { return g != "head.norm" && g != "head.proj" })
}
