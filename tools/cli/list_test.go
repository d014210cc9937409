package cli_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
	"estream/tools/cli"
)

var update = flag.Bool("update", false, "rewrite testdata")

// withDevices is an App with an operator that nobody runs, a device that lists its
// operators and a backend that does not.
func withDevices() *cli.App {
	a := cli.Default()
	a.Ops = []*ir.Op{{Name: "gelu", Operands: "t", Doc: "x * the normal distribution's share below x"}}
	a.Backends = []cli.Backend{
		{Name: "npu", Doc: "a device of graphs of fixed extents", New: func(lower.Backend) lower.Backend { return static.New(lowertest.NewNPU(), passes.Tiers{}) }},
		{Name: "silent", Doc: "a backend that lists no operators", New: func(lower.Backend) lower.Backend { return silent{} }},
	}
	return a
}

// silent is a backend that lists no operators.
type silent struct{ lower.Backend }

func (silent) Packings() []lower.Packing { return nil }

// instructions are those of the machine that tests run on.
var instructions = regexp.MustCompile(`instructions [a-z0-9]+, of ([a-z0-9]+, )*plain\n`)

// What the lists print is that of testdata/list.
func TestLists(t *testing.T) {
	for _, name := range []string{"families", "ops", "formats", "backends"} {
		code, out, e := runApp(withDevices(), name)
		require.Zero(t, code, e)
		require.Empty(t, e)
		if name == "backends" {
			require.Regexp(t, instructions, out)
			out = instructions.ReplaceAllString(out, "instructions BEST, of SETS\n")
		}
		path := filepath.Join("testdata/list", name+".txt")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			require.NoError(t, os.WriteFile(path, []byte(out), 0o666))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), out, "%s (-update rewrites the file)", path)
	}
}

func TestListsAsJSON(t *testing.T) {
	for _, c := range []struct{ command, list, first, want string }{
		{"families", "families", "deepseek", `{"name": "deepseek", "doc": "", "architectures": ["DeepseekV2ForCausalLM"], "formats": {"gguf": ["deepseek2"]}, "ignored": ["aux_loss_alpha", "ep_size", "seq_aux"]}`},
		{"families", "families", "mixtral", `{"name": "mixtral", "doc": "", "architectures": ["MixtralForCausalLM"], "formats": {"gguf": ["llama"]}, "ignored": ["router_jitter_noise"]}`},
		{"ops", "operators", "affine", `{"name": "affine", "operands": "t", "columnwise": true, "run_by": ["interp", "host", "npu"], "doc": ""}`},
		{"ops", "operators", "gelu", `{"name": "gelu", "operands": "t", "columnwise": false, "run_by": [], "doc": ""}`},
		{"formats", "formats", "safetensors", `{"name": "safetensors", "doc": "", "extensions": [".safetensors"], "architectures": null,
			"types": ["BF16", "F16", "F32", "F64", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ"]}`},
		{"backends", "backends", "silent", `{"name": "silent", "doc": "", "packings": null, "instructions": [], "chosen": "", "lacks": null}`},
	} {
		code, out, e := runApp(withDevices(), c.command, "--json")
		require.Zero(t, code, e)
		var got map[string][]map[string]any
		require.NoError(t, json.Unmarshal([]byte(out), &got), out)
		require.Len(t, got, 1)
		found := false
		for _, x := range got[c.list] {
			if x["name"] != c.first {
				continue
			}
			found = true
			if doc, ok := x["doc"]; ok {
				require.NotEmpty(t, doc)
				x["doc"] = ""
			}
			text, err := json.Marshal(x)
			require.NoError(t, err)
			require.JSONEq(t, c.want, string(text))
		}
		require.True(t, found, "%s has no %s: %s", c.command, c.first, out)
	}
}

// ESTREAM_CPU names what backends shows as chosen.
func TestBackendsInstructions(t *testing.T) {
	t.Setenv("ESTREAM_CPU", "plain")
	require.Regexp(t, `instructions plain, of .*plain\n`, ok(t, "backends").out)
	t.Setenv("ESTREAM_CPU", "abacus")
	r := run("backends")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `^estream: ESTREAM_CPU=abacus: this processor has .*plain\n$`, r.errors)
}
