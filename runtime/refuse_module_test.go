package runtime_test

import (
	"strings"
	"testing"

	"estream/pager/layout"
)

// TestRefusedModules has modules that are well formed, or nearly so, and that
// the runtime cannot run.
func TestRefusedModules(t *testing.T) {
	checkRefused(t, "w4", []refusal{
		{"no module", func(m *layout.Manifest) { m.Module = "" }, "module: 0 layers, want 1 to 4096"},
		{"no layers", text("layers c0 c0 c0\n", ""), "module: 0 layers, want 1 to 4096"},
		{"a layer more", text("layers c0", "layers c0 c0"), "layer 3: 2 dense records, want 1"},
		{"a layer less", text("layers c0 c0", "layers c0"), "no records of the head"},
		{"a class that is not there", text("layers c0", "layers c1"), `I10: layer graph "c1" is not in the module`},
		{"an operator that nobody has", text("silu %7", "warp %7"), `unknown operator "warp": a plug-in may declare it`},
		{"vast extents", in("c0.body", "f32[T,64]", "f32[T,2147483648]"), "gain f32[64] does not fit f32[T,2147483648]"},
		{"a vast table", text("w8[U,64]", "w8[U,2147483648]"), "graph embed: %3 = embed: I4"},
	})
	t.Run("embed", func(t *testing.T) { checkRefused(t, "w4", refusedEmbeds()) })
	t.Run("body", func(t *testing.T) { checkRefused(t, "w4", refusedBodies()) })
	t.Run("experts", func(t *testing.T) { checkRefused(t, "w4", refusedExperts()) })
	t.Run("head", func(t *testing.T) { checkRefused(t, "f32", refusedHeads()) })
}

func refusedEmbeds() []refusal {
	const ids, table = "%1:ids = input : i32[T]", "%2:embed.weight = weight offset=0 : w8[U,64]"
	return []refusal{
		{"none", graph("embed"), "module: no graph embed"},
		{"no output", in("embed", "return %3", "return"), "module: graph embed must give one f32[T,64]"},
		{"no table", graph("embed", ids, "%2:embed = input : f32[T,64]", "return %2"), "module: embed has no table"},
		{"another output", graph("embed", ids, table, "return %1"), "module: graph embed must give one f32[T,64]"},
		{"another input", in("embed", table, table+"\n  %9:more = input : f32[T]"), `module: graph embed takes "more", which it is not given`},
		{"a table of tokens", text("w8[U,64]", "w8[T,64]"), "module: graph embed: the table is w8[T,64], want a row for each of U"},
		{"other rows", graph("embed", ids, "%2:embed.weight = weight offset=0 : w8[U,32]", "%3:embed = embed %2 %1 : f32[T,32]", "return %3"),
			"table embed.weight: rows of 66 bytes do not hold w8[1,32]"},
	}
}

func refusedBodies() []refusal {
	const q, kv = "%10:attn.q.weight = weight offset=", "grow(bf16[S,4,16],bf16[S,4,16])"
	return []refusal{
		{"none", graph("c0.body"), "module: layer class c0 has no body"},
		{"no output", graph("c0.body", "%1:x = input : f32[T,64]", "return"),
			`module: graph c0.route takes "ffn.norm", which nothing before it makes`},
		{"a longer record", text(q+"256", q+"1048576"), "the module wants c0, 1052800, 9"},
		{"weights that overlap", text(q+"256", q+"0"), "weight attn.q.weight at 0 overlaps attn.norm.weight, 256 bytes at 0"},
		{"a vast weight", text(q+"256 : w8[64,64]", q+"256 : w8[2147483648,64]"), "graph c0.body: %11 = matmul: I4"},
		{"another input", text("%5:base = input", "%5:bass = input"), `module: graph c0.body takes "bass", which nothing before it makes`},
		{"an input of another type", text("%5:base = input : i32[B]", "%5:base = input : f32[B]"), "I3: operand 3 has type f32[B], want i32"},
		{"an output that is an input", in("c0.body", "return", "return %1"), "module: graph c0.body gives x, which is there already"},
		{"an output without rows", in("c0.body", "return", "%90:odd = reshape %1 dims=64,T : f32[64,T]\n  return %90"),
			"module: graph c0.body gives odd as f32[64,T], want a row for each of T"},
		{"another state at the end", text("%25:state.next = append", "%25:later = append"),
			"module: graph c0.body gives a state later as " + kv + ", want state.next as " + kv},
		{"two states", text("%6:parent = input : i32[B]", "%6:parent = input : i32[B]\n  %99:state.2 = input : grow(f32[S,4])"),
			`module: graph c0.body takes "state.2", which nothing before it makes`},
		{"a vast state", idle("grow(bf16[S,2147483648,2147483648,2147483648])"), "module: layer class c0 takes 1.98e+28 bytes a token, more than 1073741824"},
		{"a vast window", idle("window(f32[B,3,2147483648])"), "module: layer class c0 takes 2.58e+10 bytes a token"},
		{"a state of tokens", idle("grow(bf16[T,4])"), "module: layer class c0 has a state grow(bf16[T,4]), want a row for each of S"},
		{"a state that is none", idle("f32[T,64]"), `module: graph c0.body takes "state", which it is not given`},
	}
}

// idle makes the body one that takes a state and does not use it.
func idle(state string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		from, to := extent(m.Module, "c0.body")
		var lines []string
		for line := range strings.Lines(m.Module[from:to]) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "%7:state"):
				lines = append(lines, "%7:state = input : "+state)
			case strings.Contains(line, " = input ") || strings.Contains(line, " = weight "):
				lines = append(lines, line)
			}
		}
		graph("c0.body", append(lines, "%90:t30 = silu %1 : f32[T,64]", "%91:ffn.norm = rmsnorm %1 %8 eps=1e-05 : f32[T,64]", "return %90 %91")...)(m)
	}
}

func refusedExperts() []refusal {
	const norm, ids, weights = "%1:ffn.norm = input : f32[T,64]", "%2:experts.ids = input : i32[T,3]", "%3:experts.weights = input : f32[T,3]"
	experts := func(x, ids, weights string) func(*layout.Manifest) {
		return graph("c0.experts", x, ids, weights, "%4:experts = experts %1 %2 %3 callee=expert0 : f32[T,64]", "return %4")
	}
	return []refusal{
		{"no route", graph("c0.route"), "module: layer class c0: experts without a callee or a route"},
		{"a route without outputs", in("c0.route", "return %5 %6", "return"), `module: graph c0.experts takes "experts.ids", which nothing before it makes`},
		{"a route that chooses nothing", graph("c0.route", norm, ids, "return %1 %2"),
			"module: layer class c0: no topk tells how many experts there are"},

		{"no output", in("c0.experts", "return %4", "return"), "module: graph c0.experts has 0 outputs, want one"},
		{"another output", graph("c0.experts", norm, "return %1"), "module: layer class c0: experts without a callee or a route"},
		{"weights of a position", experts(norm, ids, "%3:past = input : f32[T,3]"), "module: graph c0.experts takes past as f32[T,3], and is given i32[B]"},
		{"chosen by a position", experts(norm, "%2:pos = input : i32[T,3]", weights),
			"module: layer class c0: no topk tells how many experts there are"},
		{"other rows", experts("%1:experts.weights = input : f32[T,64]", ids, "%3:ffn.norm = input : f32[T,3]"),
			"module: graph c0.experts takes ffn.norm as f32[T,3], and is given f32[T,64]"},
		{"fewer weights than choices", experts(norm, ids, "%3:experts.weights = input : f32[T,2]"), "I4: want x [T,H], ids [T,k], weights [T,k]"},

		{"a callee that is a layer", text("callee=expert0", "callee=c0.tail"), "its callee has no input x"},
		{"a callee without weights", graph("expert0", "%1:x = input : f32[T,64]", "return %1"), "the module wants expert0, 0, 0"},
		{"a callee that takes w as v", in("expert0", "%3:w", "%3:v"),
			"module: graph expert0 is no expert of layer class c0: it must take x as a8[T,64], rows, w, and y as f32[T,64]"},
		{"a callee that returns its rows", in("expert0", "return %15", "return %14"), "module: graph expert0 is no expert: it must add its rows to y and return it"},
		{"a callee of other rows", in("expert0", "f32[T,64]", "f32[T,32]"), "graph expert0: %5 = gather_rows: I4"},

		{"no tail", graph("c0.tail"), "module: layer class c0 makes no y"},
		{"a tail without an output", in("c0.tail", "return %3", "return"), "module: layer class c0 makes no y"},
		{"a tail of what nobody makes", in("c0.tail", "%2:experts", "%2:expert"), `module: graph c0.tail takes "expert", which nothing before it makes`},
		{"a tail of narrower rows", graph("c0.tail", "%1:experts.weights = input : f32[T,3]", "%2:y = silu %1 : f32[T,3]", "return %2"),
			"module: layer class c0 gives y as f32[T,3], want f32[T,64]"},
		{"a tail of another x", graph("c0.tail", "%1:x = input : f32[T,32]", "%2:y = silu %1 : f32[T,32]", "return %2"),
			"module: graph c0.tail takes x as f32[T,32], and is given f32[T,64]"},
		{"a nameless output", text("%3:y = add", "%3 = add"), "module: graph c0.tail: output %3 has no name"},
	}
}

func refusedHeads() []refusal {
	const weight = "%2:head.weight = weight offset=0 : f32[P,64]"
	return []refusal{
		{"no norm", graph("head.norm"), "module: no graph head.norm"},
		{"a norm without an output", in("head.norm", "return %3", "return"), `module: graph head.proj takes "final.norm", which it is not given`},
		{"a norm that gives its weight", in("head.norm", "return %3", "return %3 %2"), "module: graph head.norm gives final.norm.weight, which it does not compute"},
		{"a norm of tokens", in("head.norm", "%1:x = input : f32[L,64]", "%1:x = input : f32[L,64]\n  %9:more = input : f32[T,64]"),
			`module: graph head.norm takes "more", which it is not given`},
		{"a norm of other rows", in("head.proj", "%1:final.norm = input : f32[L,64]", "%1:x = input : f32[L,32]\n  %9:final.norm = input : f32[L,64]"),
			"graph head.proj: %3 = matmul: I4"},
		{"no projection", graph("head.proj"), "module: no graph head.proj"},
		{"a projection without an output", in("head.proj", "return %3", "return"), "module: graph head.proj must give one f32[L,P]"},
		{"a projection without weights", graph("head.proj", "%1:final.norm = input : f32[L,64]", "return %1"), "the module wants head.proj, 0, 0"},
		{"a projection of something else", in("head.proj", "%1:final.norm", "%1:other"), `module: graph head.proj takes "other", which it is not given`},
		{"a projection with two weights", in("head.proj", weight, weight+"\n  %9:more.weight = weight offset=0 : f32[P,64]"), "the module wants head.proj, 81920, 2"},
	}
}
