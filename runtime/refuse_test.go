package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/runtime"
)

// edited makes a package with another manifest beside the same weight files.
func edited(t testing.TB, dir string, edit func(*layout.Manifest)) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, layout.ManifestName))
	require.NoError(t, err)
	m, err := layout.Decode(data)
	require.NoError(t, err)
	edit(m)
	data, err = layout.Encode(m)
	require.NoError(t, err)
	to := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(to, layout.ManifestName), data, 0o644))
	for _, f := range m.Files {
		require.NoError(t, os.Link(filepath.Join(dir, f.Name), filepath.Join(to, f.Name)))
	}
	return to
}

// text replaces a part of the module's text, once.
func text(old, new string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		before, after, ok := strings.Cut(m.Module, old)
		if !ok {
			panic("the module has no " + old)
		}
		m.Module = before + new + after
	}
}

// in replaces a part of one graph's text.
func in(graph, old, new string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		from, to := extent(m.Module, graph)
		part := layout.Manifest{Module: m.Module[from:to]}
		text(old, new)(&part)
		m.Module = m.Module[:from] + part.Module + m.Module[to:]
	}
}

// graph replaces the lines of a graph; without lines it removes it.
func graph(name string, lines ...string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		from, to := extent(m.Module, name)
		body := ""
		if lines != nil {
			body = "graph " + name + "\n  " + strings.Join(lines, "\n  ") + "\n"
		}
		m.Module = m.Module[:from] + body + m.Module[to:]
	}
}

// extent is where the text of a graph stands.
func extent(module, graph string) (from, to int) {
	from = strings.Index(module, "graph "+graph+"\n")
	if from < 0 {
		panic("the module has no graph " + graph)
	}
	if next := strings.Index(module[from+1:], "graph "); next >= 0 {
		return from, from + 1 + next
	}
	return from, len(module)
}

// TestRefused opens packages that contradict themselves.
func TestRefused(t *testing.T) {
	dir := packed(t, tiny, "w4")
	tests := []struct {
		name string
		edit func(*layout.Manifest)
		want string
	}{
		{"an operator that nobody has", func(m *layout.Manifest) { m.Ops = append(m.Ops, "warp") },
			`needs the operator "warp", which this program lacks: use one built with the plug-in that declares it`},
		{"another in the text", text("silu %7", "warp %7"), `unknown operator "warp"`},
		{"a packing that nobody reads", func(m *layout.Manifest) { m.Packing = "tiles" }, `packed for "tiles", which no backend here reads`},
		{"no module", func(m *layout.Manifest) { m.Module = "" }, "x"},
		{"no layers", text("layers c0 c0 c0\n", ""), "x"},
		{"a layer more", text("layers c0", "layers c0 c0"), "x"},
		{"a layer less", text("layers c0 c0", "layers c0"), "x"},
		{"a class that is not there", text("layers c0", "layers c1"), "x"},

		{"no embed", graph("embed"), "x"},
		{"embed without an output", in("embed", "return %3", "return"), "x"},
		{"embed without a table", graph("embed", "%1:ids = input : i32[T]", "%2:embed = input : f32[T,64]", "return %2"), "x"},
		{"embed that gives something else", graph("embed", "%1:ids = input : i32[T]", "%2:embed.weight = weight offset=0 : w8[U,64]", "return %1"), "x"},
		{"embed that takes more", graph("embed", "%1:ids = input : i32[T]", "%2:embed.weight = weight offset=0 : w8[U,64]", "%3:more = input : f32[T]", "%4:embed = embed %2 %1 : f32[T,64]", "return %4"), "x"},
		{"embed of other rows", graph("embed", "%1:ids = input : i32[T]", "%2:embed.weight = weight offset=0 : w8[U,32]", "%3:embed = embed %2 %1 : f32[T,32]", "return %3"), "x"},

		{"no body", graph("c0.body"), "x"},
		{"a body without outputs", graph("c0.body", "%1:x = input : f32[T,64]", "return"), "x"},
		{"a body of other weights", text("%10:attn.q.weight = weight offset=256", "%10:attn.q.weight = weight offset=1048576"), "x"},
		{"weights that overlap", text("%10:attn.q.weight = weight offset=256", "%10:attn.q.weight = weight offset=0"), "x"},
		{"another input of the body", text("%5:base = input : i32[B]", "%5:bass = input : i32[B]"), "x"},
		{"another width of x", graph("c0.tail", "%1:t30 = input : f32[T,64]", "%2:x = input : f32[T,32]", "%3:y = silu %2 : f32[T,32]", "return %3"), "x"},
		{"another state at the end", text("%25:state.next = append", "%25:state.later = append"), "x"},
		{"two states", text("%6:parent = input : i32[B]", "%6:parent = input : i32[B]\n  %99:state.2 = input : grow(f32[S,4])"), "x"},
		{"a state that is none", text("%5:base = input : i32[B]", "%5:base = input : f32[B]"), "x"},

		{"no route", graph("c0.route"), "x"},
		{"a route without outputs", in("c0.route", "return %5 %6", "return"), "x"},
		{"a route that chooses no experts", graph("c0.route", "%1:ffn.norm = input : f32[T,64]", "%2:experts.ids = input : i32[T,3]", "return %1 %2"), "x"},
		{"experts without an output", in("c0.experts", "return %4", "return"), "x"},
		{"experts of nobody", graph("c0.experts", "%1:ffn.norm = input : f32[T,64]", "return %1"), "x"},
		{"experts weighed by a position", graph("c0.experts", "%1:ffn.norm = input : f32[T,64]", "%2:experts.ids = input : i32[T,3]", "%3:past = input : f32[T,3]", "%4:experts = experts %1 %2 %3 callee=expert0 : f32[T,64]", "return %4"), "x"},
		{"experts chosen by a position", graph("c0.experts", "%1:ffn.norm = input : f32[T,64]", "%2:pos = input : i32[T,3]", "%3:experts.weights = input : f32[T,3]", "%4:experts = experts %1 %2 %3 callee=expert0 : f32[T,64]", "return %4"), "x"},
		{"experts of other rows", graph("c0.experts", "%1:experts.weights = input : f32[T,64]", "%2:experts.ids = input : i32[T,3]", "%3:ffn.norm = input : f32[T,3]", "%4:experts = experts %1 %2 %3 callee=expert0 : f32[T,64]", "return %4"), "x"},
		{"more experts a token than weights", text("%3:experts.weights = input : f32[T,3]", "%3:experts.weights = input : f32[T,2]"), "x"},
		{"a callee that is a layer", text("callee=expert0", "callee=c0.tail"), "x"},
		{"a callee that takes less", graph("expert0", "%1:x = input : f32[T,64]", "%2:rows = input : i32[R]", "%3:w = input : f32[R]", "return %1"), "x"},
		{"a callee in another order", text("%2:rows = input : i32[R] from extract-expert/%38\n  %3:w = input : f32[R] from extract-expert/%38", "%3:w = input : f32[R]\n  %2:rows = input : i32[R]"), "x"},
		{"a callee of other rows", in("expert0", "f32[T,64]", "f32[T,32]"), "x"},

		{"no tail", graph("c0.tail"), "x"},
		{"a tail without an output", in("c0.tail", "return %3", "return"), "x"},
		{"a tail of what nobody makes", text("%2:experts = input : f32[T,64] from split/%38", "%2:expert = input : f32[T,64]"), "x"},
		{"a nameless output", text("%3:y = add", "%3 = add"), "x"},

		{"no norm of the head", graph("head.norm"), "x"},
		{"a norm that gives its weight", in("head.norm", "return %3", "return %3 %2"), "x"},
		{"a norm of other rows", graph("head.norm", "%1:x = input : f32[L,32]", "%2:final.norm.weight = weight offset=0 : f32[64]", "%3:final.norm = silu %1 : f32[L,32]", "return %3"), "x"},
		{"no projection", graph("head.proj"), "x"},
		{"a projection without an output", in("head.proj", "return %3", "return"), "x"},
		{"a projection without weights", graph("head.proj", "%1:final.norm = input : f32[L,64]", "return %1"), "x"},
		{"a projection of something else", in("head.proj", "%1:final.norm", "%1:other"), "x"},
		{"a projection with two weights", text("%2:head.weight = weight offset=0 : w8[P,64]", "%2:head.weight = weight offset=0 : w8[P,64]\n  %9:more.weight = weight offset=0 : w8[P,64]"), "x"},

		{"vast extents", in("c0.body", "f32[T,64]", "f32[T,2147483648]"), "x"},
		{"a vast state", in("c0.body", "%7:state = input : grow(bf16[S,4,16]", "%7:state = input : grow(bf16[S,2147483648,2147483648,2147483648]"), "x"},
		{"a vast table", text("w8[U,64]", "w8[U,2147483648]"), "x"},
		{"a vast weight", text("%10:attn.q.weight = weight offset=256 : w8[64,64]", "%10:attn.q.weight = weight offset=256 : w8[2147483648,64]"), "x"},

		{"an expert less", func(m *layout.Manifest) { m.Experts = append(m.Experts[:10:10], m.Experts[11:]...) }, "x"},
		{"no experts of a layer", func(m *layout.Manifest) { m.Experts = m.Experts[:16] }, "x"},
		{"no experts", func(m *layout.Manifest) { m.Experts = nil }, "x"},
		{"an expert of another number", func(m *layout.Manifest) { m.Experts[7].Index = 9 }, "x"},
		{"an expert of another class", func(m *layout.Manifest) { m.Experts[3].Class = "expert1" }, "x"},
		{"an expert of another length", func(m *layout.Manifest) { m.Experts[3].Length -= 64 }, "x"},
		{"an expert with a factor less", func(m *layout.Manifest) { m.Experts[3].Factors = m.Experts[3].Factors[:2] }, "x"},
		{"experts at uneven places", func(m *layout.Manifest) { e := m.Experts; e[1].Offset, e[2].Offset = e[2].Offset, e[1].Offset }, "x"},
		{"dense weights of another class", func(m *layout.Manifest) { m.Dense[1].Class = "c1" }, "x"},
		{"dense weights of another length", func(m *layout.Manifest) { m.Dense[1].Length += 64 }, "x"},
		{"dense weights without factors", func(m *layout.Manifest) { m.Dense[1].Factors = nil }, "x"},
		{"no dense weights", func(m *layout.Manifest) { m.Dense = nil }, "x"},
		{"no head", func(m *layout.Manifest) { m.Dense = m.Dense[:3] }, "x"},
		{"a norm alone for a head", func(m *layout.Manifest) { m.Dense = m.Dense[:4] }, "x"},
		{"a run of another length", func(m *layout.Manifest) { m.Dense[4].Length -= 64 }, "x"},
		{"a run of another class", func(m *layout.Manifest) { m.Dense[4].Class = "head.norm" }, "x"},
		{"a run without a factor", func(m *layout.Manifest) { m.Dense[4].Factors = nil }, "x"},
		{"no embeddings", func(m *layout.Manifest) { m.Rows = nil }, "x"},
		{"another table beside the embeddings", func(m *layout.Manifest) {
			m.Rows = append(m.Rows, layout.Region{Name: "more", Offset: m.Dense[4].Offset, Rows: 1, RowStride: 64, RowBytes: 64, Factor: 1, Blocks: []uint32{0}})
			m.Dense = m.Dense[:4]
		}, "x"},
		{"fewer embeddings", func(m *layout.Manifest) { m.Rows[0].Rows = 90 }, "x"},
		{"shorter embeddings", func(m *layout.Manifest) { m.Rows[0].RowBytes-- }, "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := runtime.Open(t.Context(), edited(t, dir, tt.edit), runtime.Options{})
			if err == nil {
				_, err = m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1, 2, 3}, {4}}, Logits: runtime.All})
				t.Errorf("opened; Run: %v", err)
				require.NoError(t, m.Close())
				return
			}
			t.Log("MSG", err); require.ErrorContains(t, err, tt.want)
		})
	}
}
