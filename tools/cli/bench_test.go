package cli_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// results parses what bench printed as JSON: one array.
func results(t testing.TB, text string) []map[string]any {
	t.Helper()
	var out []map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &out), "%s", text)
	return out
}

// The fields that other tools read: llama-bench's, and ours.
func TestBenchJSON(t *testing.T) {
	r := ok(t, "bench", "--json", "-r", "2", "-p", "4,6", "--bubble", "--profile", packed(t, tiny, "w4"))
	require.Empty(t, r.errors)
	rs := results(t, r.out)
	require.Len(t, rs, 2)
	requireKeys(t, rs[1], strings.Fields(`build_commit build_number cpu_info gpu_info backends model_filename model_type model_size model_n_params n_batch n_ubatch n_threads
		cpu_mask cpu_strict poll type_k type_v n_gpu_layers n_cpu_moe split_mode main_gpu no_kv_offload flash_attn tensor_split tensor_buft_overrides
		load_mode use_mmap embeddings no_op_offload fit_target fit_min_ctx n_prompt n_gen n_depth test_time avg_ns stddev_ns avg_ts stddev_ts samples_ns samples_ts
		q b g arena_bytes resident_bytes bytes_read tio_ns texec_ns tboth_ns bubble peak_bytes energy_j tokens_per_j energy_source energy_note int8_share bf16_share profile`)...)
	require.Equal(t, []any{6.0, 0.0, "host", packed(t, tiny, "w4")}, []any{rs[1]["n_prompt"], rs[1]["n_gen"], rs[1]["backends"], rs[1]["model_filename"]})
	require.Len(t, rs[1]["samples_ns"], 2)
	for _, k := range []string{"avg_ts", "model_size", "bytes_read", "tio_ns", "texec_ns", "tboth_ns"} {
		require.Greater(t, rs[0][k], 0.0, k)
	}
}

// llama-bench's spellings, several packages, and each format.
func TestBenchFormats(t *testing.T) {
	a, b := packed(t, tiny, "w4"), packed(t, tiny, "f32")
	r := ok(t, "bench", "-m", a, "-oe", "csv", "--n_prompt", "2-8*2", "-t", "1-2", "-r", "1", "-n", "0", "-ub", "3", "--no-warmup", b,
		"-b", "2048", "-ngl", "0", "-fa", "1", "-mmp", "0", "-sm", "none", "-ctk", "bf16", "--poll", "50", "-C", "0x0", "-nkvo", "1", "--offline")
	rows, err := csv.NewReader(strings.NewReader(r.errors)).ReadAll()
	require.NoError(t, err, r.errors)
	require.Len(t, rows, 1+2*2*3)
	lines := strings.Split(r.out, "\n")
	require.Len(t, lines, 2+2*2*3+3)
	require.Regexp(t, `^\| model +\| +size \| +params \| +backend \| +threads \| +test \| +t/s \|`, lines[0])
	require.Regexp(t, `^\| olmoe 0.22M w4 +\|.* +1 \| +pp2 \| +[0-9.]+ ± 0.00 \|`, lines[2])
	require.Regexp(t, `^\| olmoe 0.22M f32 +\|.* +2 \| +pp8 \|`, lines[13])
	require.Regexp(t, `^build: `, lines[15])

	r = ok(t, "bench", "-o", "benchstat", "-p", "3", "-r", "2", "-q", "3", "-B", "4", "-G", "2", "--memory", "1GiB", a)
	require.Regexp(t, `(?s)^goos: .*pkg: estream\n.*(BenchmarkPrefill/olmoe-w4/p3-\d+\t1\t\d+ ns/op\t[0-9.]+ tokens/s\t3 q\t4 b\t2 g\t3 ubatch\t\d+ arena-B\t[^\n]*\n){2}$`, r.out)
	rs := results(t, ok(t, "bench", "-o", "json", "-p", "9", "-r", "1", "-ub", "2-8*2", "--chunk", "3", a).out)
	require.Equal(t, []any{2.0, 4.0, 8.0, 3.0}, []any{rs[0]["n_ubatch"], rs[1]["n_ubatch"], rs[2]["n_ubatch"], rs[3]["n_ubatch"]})
	v := object(t, ok(t, "bench", "-o", "jsonl", "-p", "3", "-r", "1", "-q", "3", "-B", "2", "-G", "2", "--schedule", "on-demand", "--seed", "9", a))
	require.Equal(t, []any{3.0, 2.0, 2.0, "on-demand", 9.0}, []any{v["q"], v["b"], v["g"], v["schedule"], v["seed"]})
	v = object(t, ok(t, "bench", "-o", "jsonl", "-p", "3", "-r", "1", "--resident", a))
	require.Equal(t, 0.0, v["bytes_read"])
	require.Greater(t, v["resident_bytes"], 0.0)
}

// The profile stands behind the table, the progress on stderr.
func TestBenchProfile(t *testing.T) {
	r := ok(t, "bench", "-p", "9", "-r", "1", "--profile", "--progress", "-t", "2", packed(t, tiny, "w4"))
	require.Regexp(t, `(?s)build: .*\nolmoe 0.22M w4 pp9, 2 threads: a run of .* ms, average of 1\nphase +instruction +calls .*\nexperts +gate_up +\d+ .* int8 .* waits for reads .* other `, r.out)
	require.Regexp(t, `^plan: .*\npp9: warming up\npp9: run 1 of 1\n$`, r.errors)
	r = ok(t, "bench", "-p", "9", "-r", "1", "--profile", "-v", "-o", "csv", packed(t, tiny, "w4"))
	require.NotContains(t, r.out, "instruction")
	require.Regexp(t, `(?s)^peaks of a thread: int8 \d+, bf16 \d+, f32 \d+ GOPS.*\nenergy: (rapl|battery|unmeasured).*phase +instruction `, r.errors)
}

// --trace of bench and of run writes what a viewer reads; nothing where nothing ran.
func TestTrace(t *testing.T) {
	dir := packed(t, tiny, "w4")
	for _, args := range [][]string{{"bench", "-p", "9", "-r", "1"}, {"run", "--json", "--tokens", "1,2,3"}} {
		path := filepath.Join(t.TempDir(), "timeline.json")
		ok(t, append(args, "--trace", path, dir)...)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var file struct {
			Events []map[string]any `json:"traceEvents"`
		}
		require.NoError(t, json.Unmarshal(text, &file))
		require.Greater(t, len(file.Events), 100)
		for _, track := range []string{"batches", "programs", "instructions", "reader 0", "bank 0", "dense slot 0"} {
			require.Contains(t, string(text), `{"name":"`+track+`"}`)
		}
		require.NoError(t, os.Remove(path))
		args[len(args)-1] = "x"
		require.NotEqual(t, 0, run(append(args, "--trace", path, dir)...).code)
		left, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Empty(t, left)
	}
	r := run("bench", "--trace", filepath.Join(dir, "dense.bin"), dir)
	require.Equal(t, result{2, "", "estream: --trace " + filepath.Join(dir, "dense.bin") + " lies in the package " + dir + ": name another place\n"}, r)
}

func TestBenchUsage(t *testing.T) {
	dir := packed(t, tiny, "w4")
	for _, c := range []struct{ args, want string }{
		{"", "no package: usage: estream bench [flags] PACKAGE..."},
		{"-n 128 DIR", "estream does prefill only: leave out --n-gen, or give 0"},
		{"-n 0,1 DIR", "estream does prefill only: leave out --n-gen, or give 0"},
		{"-pg 512,128 DIR", "estream does prefill only: leave out -pg"},
		{"-d 512 DIR", "a prompt begins with nothing before it: leave out --n-depth, or give 0"},
		{"-b 512,511 DIR", "a prompt runs as one batch, of up to 512 tokens here: leave out --batch-size; --ubatch-size says how many rows of a layer's body run at a time"},
		{"-b many DIR", `--batch-size: "many" is no number, nor a range such as 128-2048*2`},
		{"-ub 8,many DIR", `--ubatch-size: "many" is no number, nor a range such as 128-2048*2`},
		{"-ngl 99 DIR", "--n-gpu-layers 99: no layer, expert, key or value is on a GPU: leave it out or give 0"},
		{"--n_gpu_layers 0,1 DIR", "--n-gpu-layers 1: no layer, expert, key or value is on a GPU: leave it out or give 0"},
		{"-fa 0 DIR", "--flash-attn 0: attention is always computed block by block: leave it out or give 1 or on or auto"},
		{"-mmp 1 DIR", "--mmap 1: weights are read past the page cache, never mapped or locked: --resident keeps them in memory, --memory a part: leave it out or give 0"},
		{"-C 0x3 DIR", "--cpu-mask 0x3: use taskset: leave it out or give 0x0"},
		{"-ot .*=CPU DIR", "--override-tensor .*=CPU: --backend says what packages run on: leave it out"},
		{"--list-devices", "--list-devices: estream doctor tells of the machine: leave it out"},
		{"-o sql DIR", `unknown --output "sql": use one of md, csv, json, jsonl, benchstat`},
		{"-oe sql DIR", `unknown --output-err "sql": use one of md, csv, json, jsonl, benchstat`},
		{"-p 0 DIR", `--n-prompt: "0": want 1 to 1048576, rising`},
		{"-p 1-5*1 DIR", `--n-prompt: "1-5*1": want 1 to 1048576, rising`},
		{"-p 5-1 DIR", `--n-prompt: "5-1": want 1 to 1048576, rising`},
		{"-p 1-5000 DIR", "--n-prompt stands for more than 1000 numbers"},
		{"-p 99999999999999999999 DIR", `--n-prompt: "99999999999999999999": want 1 to 1048576, rising`},
		{"-p 1-9223372036854775807*2 DIR", `--n-prompt: "1-9223372036854775807*2": want 1 to 1048576, rising`},
		{"-p some DIR", `--n-prompt: "some" is no number, nor a range such as 128-2048*2`},
		{"-t 0 DIR", `--threads: "0": want 1 to 1024, rising`},
		{"-r 0 DIR", "--repetitions=0: want 1 to 1048576"},
		{"--delay -1 DIR", "--delay=-1: want 0 to 1048576 seconds"},
		{"-q 999 DIR", "--readers=999: want 0 (chosen) to 256"},
		{"--resident --memory 1GiB DIR", "--resident keeps all weights in memory: leave out --memory"},
		{"--schedule never DIR", `unknown schedule "never": use auto, before-routing, after-routing, on-demand or guessed`},
	} {
		args := append([]string{"bench"}, strings.Fields(strings.ReplaceAll(c.args, "DIR", dir))...)
		require.Equal(t, result{2, "", "estream: " + c.want + "\n"}, run(args...), "estream %q", args)
	}
	r := run("bench", "-o", "csv", t.TempDir())
	require.Equal(t, 1, r.code)
	require.Empty(t, r.out)
	require.Contains(t, r.errors, "model.fb")
}
