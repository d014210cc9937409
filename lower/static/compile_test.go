package static_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
)

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ name, module, want string }{
		{
			"no signature", strings.Replace(tail, "graph c0.tail on dev", "graph c1.tail", 1),
			"dev: graph c0.tail@T4: the module has no graph c0.tail, of which this is a tier",
		},
		{
			"no tiers", strings.ReplaceAll(tail, "@T", "_T"),
			"dev: graph c0.tail has no tiers: want bind-dims to have run, and rows that T or R counts: unsupported",
		},
		{
			"a tier of another symbol", strings.ReplaceAll(tail, "@T4", "@S4"),
			"dev: graph c0.tail@S4: want a tier of T, of S for a graph with a state alone, of G for an expert alone, and of P for weights with P columns alone",
		},
		{
			"other extents than its name's", strings.ReplaceAll(tail, "@T4", "@T3"),
			"dev: graph c0.tail@T3: %1:x has type f32[4,1], want f32[3,1]",
		},
		{
			"an input from nowhere", strings.ReplaceAll(tail, "%1:x = input : f32[4,1]", "%1:z = input : f32[4,1]"),
			`dev: graph c0.tail@T4: input "z" cannot be made of rows of c0.tail's inputs`,
		},
		{
			"a weight of another type", strings.ReplaceAll(tail, "%2:gain = weight offset=64 : f32[1]\n  %3:y = mul %1 %2 : f32[4,1]", "%2:gain = weight offset=64 : f16[1]\n  %3:y = mul %1 %2 : f32[4,1]"),
			"dev: graph c0.tail@T4: weight gain of type f16[1] is none of c0.tail's",
		},
		{
			"extents beyond all memory", strings.NewReplacer("f32[T,1]", "f32[T,2147483648,2147483648]", "f32[4,1]", "f32[4,2147483648,2147483648]").Replace(tail),
			"dev: graph c0.tail@T4: %1:x of type f32[4,2147483648,2147483648] is too large",
		},
		{
			"outputs", strings.ReplaceAll(tail, "f32[2,1]\n  return %3", "f32[2,1]\n  return %3 %1"),
			"dev: graph c0.tail@T2: it has 2 outputs, want 1",
		},
		{
			"a window state", strings.ReplaceAll(body("f32", 0), "grow(", "window("),
			"dev: graph c0.body@T2,S4: state of type window(f32[S,1,1],f32[S,1,1]): want a window of one part [B,K-1,D]: unsupported",
		},
		{
			"a state of other rows", strings.ReplaceAll(body("f32", 0), "f32[S,1,1])", "f32[8,1,1])"),
			"dev: graph c0.body@T2,S4: state of type grow(f32[S,1,1],f32[8,1,1]): want S rows in each part: unsupported",
		},
		{
			"a weight before its record", strings.Replace(expert, "offset=128", "offset=-64", 1),
			"dev: graph expert0@R2: weight down of an expert: offset -64 is no multiple of 64",
		},
		{
			"an output of other rows", strings.Replace(tail, "%3:y = mul %1 %2 : f32[T,1]\n  return %3", "%3:y = mul %1 %2 : f32[T,1]\n  return %3 %2", 1),
			"dev: graph c0.tail@T4: output 1 of type f32[1] has not the rows of the first input: unsupported",
		},
		{
			"two windows", strings.Replace(body("f32", 0), "  %11:y", "  %12 = attention %8 %9 %2 %3 %4 %5 %6 scale=1 window=2 : f32[T,1,1]\n  %11:y", 1),
			"dev: graph c0.body@T2,S4: attentions with windows 0 and 2 cannot share a mask: unsupported",
		},
		{
			"two steps", strings.Replace(body("f32", 0), "  %11:y", "  %12 = attention %8 %9 %2 %3 %4 %4 %6 scale=1 window=0 : f32[T,1,1]\n  %11:y", 1),
			"dev: graph c0.body@T2,S4: attentions %10 and %12 over different steps cannot share a mask: unsupported",
		},
		{
			"an append by another step", strings.Replace(body("f32", 0), "append %7 %3 %4 %5 ", "append %7 %3 %4 %4 ", 1),
			"dev: graph c0.body@T2,S4: %9 appends by another step than is attended to: unsupported",
		},
		{
			"no attention", strings.NewReplacer("  %10 = attention %8 %9 %2 %3 %4 %5 %6 scale=1 window=0 : f32[T,1,1]\n", "", "reshape %10", "reshape %8").Replace(body("f32", 0)),
			"dev: graph c0.body@T2,S4: nothing attends to the state: unsupported",
		},
		{
			"positions that are computed", strings.NewReplacer("  %10 = attention %8 %9 %2 ", "  %12 = topk %1 k=1 : i32[T,1]\n  %13 = reshape %12 dims=T : i32[T]\n  %10 = attention %8 %9 %13 ").Replace(body("f32", 0)),
			"dev: graph c0.body@T2,S4: attention takes %13, which is no input, as part of the step: unsupported",
		},
		{
			"an expert without w", strings.ReplaceAll(expert, ":w ", ":v "),
			"dev: graph expert0@R2: it adds rows, and is no expert: want inputs x, rows, w and y, and y alone returned",
		},
		{
			"what the device refuses", body("f32", 0),
			"dev: graph c0.body@T4,S8: too wide: unsupported",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &recorder{refuse: "c0.body@T4,S8"}
			x, err := compile(t, d, c.module)
			require.Nil(t, x)
			require.EqualError(t, err, c.want)
			require.Zero(t, d.live, "memories and graphs that are left")
		})
	}
}

func TestPrograms(t *testing.T) {
	d := &recorder{}
	c, err := compile(t, d, tail+body("f32", 0)+expert)
	require.NoError(t, err)
	footprint := func(graph string) int64 {
		n, err := c.Footprint(graph, lower.Dims{"T": 100})
		require.NoError(t, err)
		return n
	}
	for _, graph := range []string{"nosuch", "c0.experts", "c0.tail@T2"} {
		_, err = c.Program(graph)
		require.EqualError(t, err, "dev: graph "+graph+" has no tiers here")
		require.Zero(t, footprint(graph))
	}
	// x, mask, past.0, past.1, y, new.0, new.1, each a multiple of 128 bytes
	require.EqualValues(t, (1+2+1+1+1+1+1)*128, footprint("c0.body"))
	require.EqualValues(t, 2*128, footprint("c0.tail"))
	artifact, err := c.Artifact()
	require.NoError(t, err)
	require.Nil(t, artifact)
	require.NoError(t, c.Close())
	require.Zero(t, d.live)
}
