package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/check"
	"estream/tools/cli"
)

func TestCheck(t *testing.T) {
	dir := packed(t, tiny, "f32")
	r := ok(t, "check", "--golden", goldens, dir)
	lines := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	require.Len(t, lines, 2+21+2)
	require.Equal(t, "layer  value            golden           ours - golden       interp - golden     ours - interp", lines[0])
	require.Equal(t, "embed  embed            embed              0.0e+00   0.0e+00   0.0e+00   0.0e+00   0.0e+00   0.0e+00", lines[2])
	require.Regexp(t, `^2      experts          ffn_out.2       (   \d\.\de[-+]\d\d){6}$`, lines[19])
	require.Equal(t, "skipped logits_bf16_weights: no value of the package is known by that name", lines[23])
	require.Equal(t, dir+": 21 values of p33 are within 0.0001 of "+goldens, lines[24])

	v := object(t, ok(t, "check", "--json", "--golden", goldens, "--prompt", "batch", dir))
	requireKeys(t, v, "prompt", "tolerance", "encoded", "values", "first", "verdict", "skipped", "failed")
	require.Equal(t, []any{"batch", "agrees", -1.0}, []any{v["prompt"], v["verdict"], v["first"]})
}

// A package of other weights: exit code 1, the first difference, and whose it is.
func TestCheckDiffers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "synth", "--encoding", "f32", "--config", tiny, dir)
	r := run("check", "--golden", goldens, dir)
	require.Equal(t, 1, r.code)
	require.Equal(t, "estream: "+dir+" differs from "+goldens+"\n", r.errors)
	require.Equal(t, 21, strings.Count(r.out, "  over\n"), r.out)
	require.NotContains(t, r.out, "\x1b", "colours where there is no terminal")
	require.Regexp(t, `
first   layer embed, embed \(embed\), element \[\d+ \d+\]: ours [-0-9.]+, interp [-0-9.]+, golden [-0-9.]+
likely  the family: the interpreter agrees with ours, so the graph, a weight's place or a setting is not the model's
look    nothing before it was compared: estream inspect --ir --graph embed \S+
$`, r.out)
	ok(t, "inspect", "--ir", "--graph", "embed", dir)

	r = run("check", "--json", "--golden", goldens, dir)
	require.Equal(t, 1, r.code)
	v := object(t, r)
	require.Equal(t, []any{"graph", 0.0}, []any{v["verdict"], v["first"]})
	row := v["values"].([]any)[0].(map[string]any)
	requireKeys(t, row, "layer", "golden", "value", "graph", "over", "ours", "interp", "apart", "worst")
	requireKeys(t, row["ours"].(map[string]any), "abs", "rel")
	requireKeys(t, row["worst"].(map[string]any), "index", "ours", "interp", "golden")
}

// A program with a family of its own says what golden files call its values.
func TestCheckNames(t *testing.T) {
	app := cli.Default()
	var out, errors strings.Builder
	app.Stdout, app.Stderr = &out, &errors
	app.GoldenNames = []check.Name{{Golden: "logits_bf16_weights", Values: []string{"logits"}}}
	require.Equal(t, 1, cli.Main(app, []string{"check", "--golden", goldens, packed(t, tiny, "f32")}))
	require.Contains(t, out.String(), "first   layer head, logits (logits_bf16_weights), element [0 ")
	require.Contains(t, out.String(), "look    layer head, logits still agrees: estream inspect --ir --graph head.proj ")
}
