package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	w8, w4 := packed(t, tiny, "w8"), packed(t, tiny, "w4")
	r := run("diff", "--tokens", "1,2,3", w8, w8)
	require.Equal(t, result{0, "a         " + w8 + "\nb         " + w8 + "\nweights   102 tensors compared, 0 differ\nlogits    the same at all 3 positions\nthe same\n", r.errors}, r)

	r = run("diff", "--tokens", "1,2,3", w8, w4)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "estream: "+w8+" and "+w4+" differ\n")
	for _, line := range []string{
		"package   policy encoding: w8 -> w4\n",
		"graph     expert0\n  - expert.gate.weight = weight : w8[32,64]\n  + expert.gate.weight = weight : w4g64[32,64]\n",
		"weights   102 tensors compared, 72 differ\n",
		"\nexpert.down.weight (24)      w8        w4g32 ",
		"logits    3 positions: the likeliest token is the same at ",
	} {
		require.Contains(t, r.out, line)
	}
	require.NotContains(t, r.out, "config ")
	require.Equal(t, 72, strings.Count(run("diff", "--each", "--only", "weights", w8, w4).out, " expert."))

	v := object(t, run("diff", "--json", "--only", "weights", "--tolerance", "0.5", w8, w4))
	require.Equal(t, []any{true, []any{}, 72.0}, []any{v["same"], v["graphs"], v["weights"].(map[string]any)["within"]})
}

// A package is compared with its checkpoint, checkpoints with each other, and IR text
// with the graphs of a package.
func TestDiffKinds(t *testing.T) {
	dir := packed(t, tiny, "f32")
	require.Contains(t, ok(t, "diff", tiny, dir).out, "weights   102 tensors compared, 0 differ\nthe same\n")

	r := run("diff", tiny, "../../testdata/qwen3")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.out, "config    norm_topk_prob: false -> true\n")
	require.Contains(t, r.out, "graph     layer0 layer1 layer2\n", "layers that differ alike are one")

	text := filepath.Join(t.TempDir(), "ir.txt")
	require.NoError(t, os.WriteFile(text, []byte(ok(t, "inspect", "--ir", dir).out), 0o666))
	require.Contains(t, ok(t, "diff", dir, text).out, "weights   not compared: "+text+" has none: it is graphs\nthe same\n")
	changed := strings.Replace(ok(t, "inspect", "--ir", dir).out, "eps=1e-05", "eps=1e-06", 1)
	require.NoError(t, os.WriteFile(text, []byte(changed), 0o666))
	r = run("diff", "--only", "graphs", dir, text)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.out, "  - attn.norm = rmsnorm x attn.norm.weight eps=1e-05 : f32[T,64]\n  + attn.norm = rmsnorm x attn.norm.weight eps=1e-06 : f32[T,64]\n")
}

// What cannot be compared is exit code 2, never 1.
func TestDiffTrouble(t *testing.T) {
	dir, nowhere := packed(t, tiny, "f32"), filepath.Join(t.TempDir(), "nowhere")
	text := filepath.Join(t.TempDir(), "ir.txt")
	require.NoError(t, os.WriteFile(text, []byte("graph g\n  what is this\n"), 0o666))
	binary := filepath.Join(t.TempDir(), "a.bin")
	require.NoError(t, os.WriteFile(binary, []byte{1, 0, 2}, 0o666))
	empty := filepath.Join(t.TempDir(), "empty.ir")
	require.NoError(t, os.WriteFile(empty, nil, 0o666))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{dir}, "accepts 2 arg(s), received 1"},
		{[]string{dir, nowhere}, "nowhere"},
		{[]string{dir, text}, "ir.txt: ir text, line 2"},
		{[]string{dir, empty}, "empty.ir: no graph"},
		{[]string{dir, binary}, "a.bin is neither a package, nor a checkpoint, nor IR text"},
		{[]string{dir, t.TempDir()}, "safetensors"},
		{[]string{"--only", "logits", dir, dir}, `unknown --only "logits": use config, graphs, weights`},
		{[]string{"--tolerance", "NaN", dir, dir}, "--tolerance=NaN is no number from 0"},
		{[]string{"--workers", "-1", dir, dir}, "--workers=-1: want 0 (one a processor) to 1024"},
		{[]string{"--tokens", "1", "--prompt", "x", dir, dir}, "give one of --prompt and --tokens"},
		{[]string{"--tokens", "1", tiny, dir}, tiny + " is no package, and only packages run: make one with estream pack"},
		{[]string{"--tokens", "999", dir, dir}, "id 999 is not in the vocabulary of 160"},
		{[]string{"--prompt", "hello", dir, dir}, "has no tokenizer.json"},
	} {
		r := run(append([]string{"diff"}, c.args...)...)
		require.Equal(t, 2, r.code, "estream diff %q: %s", c.args, r.errors)
		require.Empty(t, r.out, "estream diff %q", c.args)
		require.Contains(t, r.errors, c.want, "estream diff %q", c.args)
	}
}
