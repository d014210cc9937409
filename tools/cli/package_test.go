package cli_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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

func TestInspect(t *testing.T) {
	dir := packed(t, tiny, "f32")
	r := ok(t, "inspect", dir)
	for _, line := range []string{
		"family    olmoe, 3 layers, hidden 64, vocabulary of 160\n",
		"format    1, aligned to 16.0 KiB, packing host for host\n",
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
