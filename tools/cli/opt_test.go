package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
	"estream/tools/cli"
)

const silu = "graph m\n  %1:x = input : f32[4]\n  %2 = silu %1 : f32[4]\n  %3 = silu %1 : f32[4]\n  return %2\n"

// irFile writes IR text to a file.
func irFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.ir")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// given runs a command with a file as stdin.
func given(t testing.TB, path string, args ...string) result {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	own := os.Stdin
	os.Stdin = f
	defer func() { os.Stdin = own }()
	return run(args...)
}

// Opt makes of config.json what pack stores, and of that what a package is opened as.
func TestOptIsPackAndOpen(t *testing.T) {
	for _, family := range []string{"deepseek", "lfm2", "mixtral", "olmoe", "qwen3"} {
		folder := "../../testdata/" + family
		dir := packed(t, folder, "w8")
		stored := ok(t, "opt", "--passes", "pack", "--encoding", "w8", folder)
		require.Equal(t, ok(t, "inspect", "--ir", dir).out, stored.out, family)
		require.Empty(t, stored.errors)
		legal := ok(t, "inspect", "--legal", dir).out
		require.Equal(t, legal, ok(t, "opt", dir).out, family)
		require.Equal(t, legal, ok(t, "opt", "--encoding", "w8", folder+"/config.json").out, family)
		require.Equal(t, legal, given(t, irFile(t, stored.out), "opt").out, family)
	}
}

// Settings of quantize: what synth makes of a checkpoint in bf16.
func TestOptPolicy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "synth", "--config", tiny, "--head", "w4g32", dir)
	want := ok(t, "inspect", "--ir", dir).out
	require.Equal(t, want, ok(t, "opt", "--passes", "pack", "--exact", "bf16", "--head", "w4g32", tiny).out)
	require.NotContains(t, ok(t, "opt", "--activations", "none", dir).out, " = quantize ")
	require.Contains(t, ok(t, "opt", "--activations", "a8g128", "../../testdata/configs/OLMoE-1B-7B-0924.config.json").out, "to=a8g128")
}

func TestOptDump(t *testing.T) {
	path := irFile(t, silu)
	one := "graph m\n  %1:x = input : f32[4]\n  %2 = silu %1 : f32[4]\n  return %2\n"
	require.Equal(t, "# input\n"+silu+"\n# after dce\n"+one+"\n", ok(t, "opt", "--passes", "canonicalize,dce", "--dump", "dce,input", path).out)
	all := ok(t, "opt", "--dump", "all", path).out
	require.Equal(t, 1+9, strings.Count(all, "# "))
	require.Contains(t, all, "# after plan-memory\n")
	require.Equal(t, one, ok(t, "opt", path).out)

	v := object(t, ok(t, "opt", "--json", "--passes", "dce", "--dump", "all", path))
	require.Equal(t, one, v["module"])
	require.Len(t, v["dumps"], 2)
	require.Len(t, v["passes"], 1)
	requireKeys(t, v["passes"].([]any)[0].(map[string]any), "pass", "elapsed_s", "graphs", "values")
}

// A pass that fails is named, and what those before it left is shown.
func TestOptFails(t *testing.T) {
	r := run("opt", "--passes", "canonicalize,split,dce", "--dump", "all", "--time", tiny)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "estream: pass split: graph layer0: ")
	require.Contains(t, r.out, "# after canonicalize\n")
	require.NotContains(t, r.out, "# after split\n")
	require.Regexp(t, `(?m)^canonicalize +\d+\.\d{3} +5 +\d+$`, r.errors)
	require.Contains(t, r.errors, "note: split runs before dce, and should not: dead values would be taken for a side phase\n")

	for text, want := range map[string]string{
		strings.Replace(silu, "return %2", "return %4", 1):                   ": ir text, line 5: undefined value %4",
		strings.Replace(silu, "%3 = silu %1 : f32[4]", "%3 = fly : i32", 1):  `: ir text, line 4: unknown operator "fly": a plug-in may declare it`,
		strings.Replace(silu, ": f32[4]\n  return", ": f32[5]\n  return", 1): ": graph m: %3 = silu: I4: type is f32[5], want f32[4]",
		"# nothing\n":    ": no graph",
		"\x00\x01\x02\n": ": no IR text: give a package, a config.json, or what estream opt or inspect --ir prints",
	} {
		path := irFile(t, text)
		require.Equal(t, result{1, "", "estream: " + path + want + "\n"}, run("opt", path), "%q", text)
		require.Equal(t, result{1, "", "estream: stdin" + want + "\n"}, given(t, path, "opt", "-"), "%q", text)
	}
	require.Contains(t, run("opt", "nowhere").errors, "nowhere")
	require.Contains(t, run("opt", t.TempDir()).errors, "not a package")
	config := filepath.Join(t.TempDir(), "config.json")
	data, err := os.ReadFile(tiny + "/config.json")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(data), "OlmoeForCausalLM", "Fly", 1)), 0o666))
	require.Contains(t, run("opt", config).errors, `unknown architecture "Fly"`)
}

func TestOptUsage(t *testing.T) {
	path := irFile(t, silu)
	for want, args := range map[string][]string{
		`--passes: no pass is named "fly": there are canonicalize, dce, quantize, extract-expert, split, layout, legalize, bind-dims, plan-memory; or pack, open`: {"--passes", "fly"},
		"--dump split: no pass of that name is run: use all, input, dce":                                                                                          {"--passes", "dce", "--dump", "split"},
		"--exact w8: use f32, f16 or bf16":                                                  {"--exact", "w8"},
		"--activations f32: use a8, a8g128 or none":                                         {"--activations", "f32"},
		`unknown backend "abacus": use one of host, qnn-cpu, qnn-htp`:                       {"--backend", "abacus"},
		`unknown encoding "w5": use one of w4, w4g32, w4g64, w4g128, w4full, w8, bf16, f32`: {"--encoding", "w5"},
	} {
		require.Equal(t, result{2, "", "estream: " + want + "\n"}, run(append([]string{"opt", path}, args...)...), "%q", args)
	}
}

func TestOptList(t *testing.T) {
	out := ok(t, "opt", "--list").out
	require.Contains(t, out, "pack  dce             every value reaches an output, inputs apart\n                      after canonicalize: folding leaves reshapes that nothing reads\n")
	require.Contains(t, out, "open  bind-dims ")
	v := object(t, ok(t, "opt", "--list", "--json"))
	require.Len(t, v["passes"], 9)
	requireKeys(t, v["passes"].([]any)[0].(map[string]any), "name", "list", "doc", "after")
}

// plain is a device without convolutions.
type plain struct{ *lowertest.NPU }

func (d plain) Supports(v *ir.Value) error {
	if v.Op == ir.ConvPast {
		return fmt.Errorf("no convolutions: %w", lower.ErrUnsupported)
	}
	return d.NPU.Supports(v)
}

// For a device: its graphs are those of its tiers, and what stays on the host is told
// with the reason.
func TestOptWhy(t *testing.T) {
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "npu", New: func(lower.Backend) lower.Backend {
		return static.New(plain{lowertest.NewNPU()}, passes.Tiers{T: []int{4}, S: []int{16}, R: []int{2, 8}})
	}}}
	code, out, why := runApp(a, "opt", "--backend", "npu", "--why", packed(t, "../../testdata/lfm2", "f32"))
	require.Zero(t, code, why)
	require.Contains(t, out, "graph expert0@R8 on npu\n")
	require.Regexp(t, `(?m)^c0.body stays on the host: graph c0.body@T4: %12 = conv_past: .*: npu: no convolutions: unsupported$`, why)

	require.Equal(t, "nothing was decided: no weight became another type, and no graph was kept off its backend\n", ok(t, "opt", "--why", packed(t, tiny, "w8")).errors)

	r := ok(t, "opt", "--why", "--passes", "pack", tiny)
	require.Contains(t, r.errors, "layer0 expert.down.weight: f32 becomes w4g32: matrix of experts, rows of 32 values are no whole groups of w4g64\n")
	require.Contains(t, r.errors, "expert0: the experts of layer0\n")
}
