package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
)

func TestPack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	v := object(t, ok(t, "pack", "--json", "--encoding", "w8", "--experts", "w4g32", "--head", "exact", tiny, dir))
	requireKeys(t, v, "package", "family", "encoding", "policy", "notes", "read_bytes", "written_bytes", "elapsed_s")
	require.Equal(t, []any{dir, "olmoe", "w8,experts=w4g32,head=exact"}, []any{v["package"], v["family"], v["encoding"]})
	require.Greater(t, v["written_bytes"], 0.0)
	ok(t, "verify", dir)

	r := ok(t, "pack", tiny, filepath.Join(t.TempDir(), "q"))
	require.Regexp(t, `(?s)^\S+/q: olmoe, [0-9.]+ KiB of weights packed as w4 into [0-9.]+ KiB in .*\n  encoding +w4\n`, r.out)
	require.Contains(t, r.out, "expert.gate.weight     w4g64: matrix of experts (3 graphs, layer0 to layer2)\n")
}

// Codes of Q4_0 are kept unless another encoding is asked for.
func TestPackKeepsCodes(t *testing.T) {
	const gguf = "../../testdata/gguf/olmoe-tiny-Q4_0.gguf"
	r := ok(t, "pack", gguf, filepath.Join(t.TempDir(), "p"))
	require.Contains(t, r.out, "packed as w4full into")
	require.Contains(t, r.errors, "note: experts keep the checkpoint's Q4_0 codes: w4full\n")
	r = ok(t, "pack", "--encoding", "w4", gguf, filepath.Join(t.TempDir(), "q"))
	require.Contains(t, r.out, "packed as w4 into")
	require.Contains(t, r.errors, "note: the checkpoint's experts are Q4_0: --encoding w4full would keep their codes\n")
}

func TestVerify(t *testing.T) {
	dir := packed(t, tiny, "f32")
	require.Equal(t, dir+": 24 expert and 5 dense records, 875.2 KiB: every checksum is right\n", ok(t, "verify", dir).out)
	v := object(t, ok(t, "verify", "--json", dir))
	require.Equal(t, map[string]any{"package": dir, "ok": true, "bytes": 896256.0, "experts": 24.0, "dense": 5.0}, v)
	for _, file := range []string{"experts.bin", "dense.bin"} {
		r := run("verify", damaged(t, dir, file))
		require.Equal(t, 1, r.code)
		require.Empty(t, r.out)
		require.Contains(t, r.errors, file)
		require.Contains(t, r.errors, "checksum")
	}
	require.Equal(t, 1, run("verify", damaged(t, dir, "model.fb")).code)
}

// What runs nothing needs no kernels.
func TestWithoutKernels(t *testing.T) {
	dir, made := packed(t, tiny, "w8"), t.TempDir()
	t.Setenv("ESTREAM_CPU", "abacus")
	for _, args := range [][]string{
		{"verify", dir}, {"inspect", dir}, {"inspect", "--ir", dir}, {"inspect", "--legal", dir}, {"inspect", "--json", dir}, {"inspect", "--records", dir},
		{"families"}, {"ops"}, {"formats"}, {"pack", tiny, made + "/p"}, {"synth", "--config", tiny, made + "/s"},
	} {
		require.NotEmpty(t, ok(t, args...).out, "%q", args)
	}
	r := run("run", "--tokens", "1", dir)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "ESTREAM_CPU=abacus: this processor has ")
}

func TestInspect(t *testing.T) {
	dir := packed(t, tiny, "f32")
	r := ok(t, "inspect", dir)
	for _, line := range []string{
		"family    olmoe, 3 layers, hidden 64, vocabulary of 160\n",
		"params    219456: 147456 of experts, 127296 for each token\n",
		"weights   experts f32               147456 values in 576.0 KiB\n",
		fmt.Sprintf("format    %d, aligned to 16.0 KiB, packing host for host\n", layout.Version),
		"policy    ffn.router.weight: f32: router, exact (3 graphs, layer0 to layer2)\n",
		"class     c0: 3 layers (0-2); graphs c0.body, c0.route, c0.experts, c0.tail, c0.early\n",
		"experts   expert0 of class c0: 8 a layer, 3 a token, 24.0 KiB each (32.0 KiB on disk)\n",
		"records   24 of experts, 5 dense\n",
	} {
		require.Contains(t, r.out, line)
	}
	require.Contains(t, ok(t, "inspect", "--records", dir).out, "record    experts.bin layer 2 index 7: expert0, 24576 bytes at ")

	require.Equal(t, `graph c0.route
  %1:ffn.norm = input : f32[T,64] from split/%32
  %2:ffn.router.weight = weight offset=66560 : f32[8,64]
  %3:ffn.router = matmul %1 %2 : f32[T,8]
  %4 = softmax %3 : f32[T,8]
  %5:experts.ids = topk %4 k=3 : i32[T,3]
  %6:experts.weights = gather %4 %5 : f32[T,3]
  return %5 %6
`, ok(t, "inspect", "--ir", "--graph", "c0.route", dir).out)
	require.Contains(t, ok(t, "inspect", "--ir", dir).out, "layers c0 c0 c0\n")
	require.Contains(t, ok(t, "inspect", "--legal", "--graph", "c0.body", packed(t, tiny, "w8")).out, "quantize")

	v := object(t, ok(t, "inspect", "--json", dir))
	requireKeys(t, v, "family", "version", "align", "packing", "backends", "ops", "layers", "classes", "vocab", "files",
		"policy", "provenance", "config", "module", "experts", "dense", "rows")
	require.Equal(t, []any{"c0", "c0", "c0"}, v["layers"])
	require.Equal(t, []any{219456.0, 147456.0, 127296.0}, []any{v["params"], v["expert_params"], v["active_params"]})
}

// A dry run prints what synth would make, which inspect prints of what it made.
func TestSynthDryRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	r := ok(t, "synth", "--dry-run", "--config", tiny, dir)
	require.NoDirExists(t, dir)
	require.Equal(t, r, ok(t, "synth", "--dry-run", "--config", tiny))
	require.Equal(t, `family    olmoe, 3 layers, as w4
params    219456: 147456 of experts, 127296 for each token
weights   experts w4g64              98304 values in 51.0 KiB
weights   experts w4g32              49152 values in 27.0 KiB
weights   layers  w8                 49152 values in 49.5 KiB
weights   layers  bf16                2304 values in 13.5 KiB
weights   head    w8                 10240 values in 10.3 KiB
weights   head    bf16                  64 values in 128 B
weights   embed   w8                 10240 values in 10.3 KiB
file      dense.bin              144.0 KiB
file      experts.bin            384.0 KiB
file      model.fb               9.4 KiB
total     3 files                537.4 KiB
`, r.out)
	ok(t, "synth", "--config", tiny, dir)
	made := ok(t, "inspect", dir).out
	for _, line := range strings.SplitAfter(r.out, "\n")[1:10] {
		require.Contains(t, made, line)
	}

	total := int64(0)
	for _, name := range []string{"dense.bin", "experts.bin", "model.fb"} {
		st, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		total += st.Size()
	}
	require.Equal(t, float64(total), object(t, ok(t, "synth", "--dry-run", "--json", "--config", tiny))["total_bytes"])

	v := object(t, ok(t, "synth", "--dry-run", "--json", "--encoding", "w8", "--config", "../../testdata/configs/LFM2-8B-A1B.config.json"))
	requireKeys(t, v, "family", "encoding", "policy", "notes", "weights", "files")
	require.Equal(t, []any{24.0, 8339929856.0, 7751073792.0, 1557740288.0}, []any{v["layers"], v["params"], v["expert_params"], v["active_params"]})
	require.Equal(t, map[string]any{"kind": "experts", "type": "w8", "values": 7751073792.0, "bytes": 7759003648.0}, v["weights"].([]any)[0])
}

func TestSynth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	v := object(t, ok(t, "synth", "--json", "--seed", "7", "--config", tiny, dir))
	requireKeys(t, v, "package", "family", "encoding", "seed", "policy", "notes", "written_bytes", "elapsed_s", "bytes_per_s")
	require.Equal(t, 7.0, v["seed"])
	require.Contains(t, ok(t, "inspect", dir).out, "from      source: synthetic: random weights, nothing was trained\nfrom      seed: 7\n")
	ok(t, "verify", dir)
	ok(t, "run", "--tokens", "1,2,3", dir)

	r := ok(t, "synth", "--config", tiny+"/config.json", "--encoding", "w8", filepath.Join(t.TempDir(), "q"))
	require.Regexp(t, `^\S+/q: olmoe of random weights as w8, [0-9.]+ KiB in `, r.out)

	folder := filepath.Join(t.TempDir(), "c")
	v = object(t, ok(t, "synth", "--checkpoint", "--json", "--config", tiny, folder))
	require.Equal(t, []any{folder, 1.0, 102.0, 1.0, 438912.0}, []any{v["checkpoint"], v["seed"], v["tensors"], v["shards"], v["written_bytes"]})
	requireKeys(t, v, "elapsed_s")
	ok(t, "pack", folder, folder+".estream")
	require.Regexp(t, `^\S+/d: 102 random tensors in 1 files, 428.6 KiB in `, ok(t, "synth", "--checkpoint", "--config", tiny, filepath.Join(t.TempDir(), "d")).out)
}
