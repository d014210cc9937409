package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"estream/tools/energy"
)

// some are two results, the second with all that may be missing in the first.
func some() []*Result {
	one := func(n int) *Result {
		return &Result{
			BuildCommit: "abc", CPUInfo: "a processor", Backends: "host", ModelFilename: "models/olmoe 1.estream", ModelType: "olmoe 6.92B w4", ModelSize: 3900000000, ModelParams: 6919161856,
			Batch: n, Microbatch: 512, Threads: 2, Settings: settings("bf16", "bf16"), Prompt: n, TestTime: "2030-01-02T03:04:05Z",
			AvgNS: 1500000000, StddevNS: 500000000, AvgTS: 350, StddevTS: 10.5, SamplesNS: []int64{1000000000, 2000000000}, SamplesTS: []float64{500, 250},
			Kernels: "plain", Q: 2, B: 3, G: 1, ArenaBytes: 42 << 20, BytesRead: 3 << 30, BubbleEstimate: 0.125, EnergySource: energy.Unmeasured, EnergyNote: "no \"counters\", none",
		}
	}
	a, b := one(512), one(2048)
	peak, tio, texec, both, bubble, share, joules, rate := int64(66<<20), int64(5e8), int64(9e8), int64(1e9), 0.4, 0.75, 30.0, 17.066666
	b.PeakBytes, b.TioNS, b.TexecNS, b.TbothNS, b.Bubble, b.Int8Share = &peak, &tio, &texec, &both, &bubble, &share
	b.SamplesTioNS, b.SamplesExecNS, b.SamplesBothNS = []int64{5e8, 5e8}, []int64{9e8, 9e8}, []int64{1e9, 1e9}
	b.EnergyJ, b.TokensPerJ, b.EnergySource, b.EnergyNote, b.EnergyBy = &joules, &rate, energy.RAPL, "", map[string]float64{"host": 30}
	b.Profile = &Profile{Runs: 2}
	return []*Result{a, b}
}

func printed(t testing.TB, format string, o Options, rs ...*Result) string {
	t.Helper()
	var out bytes.Buffer
	p := NewPrinter(format, &out, o)
	require.NotNil(t, p, format)
	for _, r := range rs {
		require.NoError(t, p.Print(r))
	}
	require.NoError(t, p.Close())
	return out.String()
}

func TestMarkdown(t *testing.T) {
	rapl := energy.Open(fstest.MapFS{"class/powercap/intel-rapl:0/name": {Data: []byte("package-0")}, "class/powercap/intel-rapl:0/energy_uj": {Data: []byte("1")}})
	require.Equal(t, strings.TrimPrefix(`
| model                     |       size |    params |  backend |  threads |     test |                 t/s |     Q B G |       arena |    resident |        read |        peak |    bubble |  int8 peak |    tokens/J |
| ------------------------- | ---------: | --------: | -------: | -------: | -------: | ------------------: | --------: | ----------: | ----------: | ----------: | ----------: | --------: | ---------: | ----------: |
| olmoe 6.92B w4            |   3.63 GiB |     6.92B |     host |        2 |    pp512 |      350.00 ± 10.50 |     2 3 1 |   42.00 MiB |    0.00 MiB |    3.00 GiB |           - |         - |          - |  unmeasured |
| olmoe 6.92B w4            |   3.63 GiB |     6.92B |     host |        2 |   pp2048 |      350.00 ± 10.50 |     2 3 1 |   42.00 MiB |    0.00 MiB |    3.00 GiB |   66.00 MiB |    40.0 % |     75.0 % |       17.07 |

build: abc
`, "\n"), printed(t, "md", Options{Bubble: true, Peaks: Peaks{Int8: 1}, Energy: rapl}, some()...))
	require.Contains(t, printed(t, "md", Options{}, some()[0]), " |  bubble est. |    tokens/J |\n")
	require.Contains(t, printed(t, "md", Options{Energy: rapl}, some()[0]), " unmeasured |\n", "asked for, and not measured")
	require.Regexp(t, `threads \| +n_ubatch \| +test .*\n.*\n.* 2 \| +512 \| +pp512`, printed(t, "md", Options{Chunks: []int{0, 7}}, some()[0]))
	require.Empty(t, printed(t, "md", Options{}))
	own := some()[0]
	own.BuildCommit = unstamped
	require.Regexp(t, `\nbuild: unknown \(go build -buildvcs=true .*\)\n$`, printed(t, "md", Options{}, own))
}

// What was not measured has no number.
func TestBenchstat(t *testing.T) {
	const (
		all    = "2 q\t3 b\t1 g\t512 ubatch\t44040192 arena-B\t0 resident-B\t0 plan-B\t"
		read   = "3221225472 read-B/op\t0 wasted-B/op\t0 guessed/op\t0 guess-hits/op\t0 guess-misses/op\t0 read-ns/op\t0 compute-ns/op\t0 wait-ns/op\t0.125000 bubble-estimate"
		bubble = "500000000 tio-ns/op\t900000000 texec-ns/op\t1000000000 tboth-ns/op\t0.400000 bubble\t"
		joules = "\t0.750000 int8-share\t30.000000 J/op\t17.066666 tokens/J"
	)
	require.Equal(t, []string{
		"goos: " + goruntime.GOOS, "goarch: " + goruntime.GOARCH, "pkg: estream", "cpu: a processor", "kernels: plain", "energy: unmeasured",
		"BenchmarkPrefill/olmoe_1/p512-2\t1\t1000000000 ns/op\t500.000000 tokens/s\t" + all + read,
		"BenchmarkPrefill/olmoe_1/p512-2\t1\t2000000000 ns/op\t250.000000 tokens/s\t" + all + read,
		"energy: rapl",
		"BenchmarkPrefill/olmoe_1/p2048-2\t1\t1000000000 ns/op\t500.000000 tokens/s\t" + bubble + all + "69206016 peak-B\t" + read + joules,
		"BenchmarkPrefill/olmoe_1/p2048-2\t1\t2000000000 ns/op\t250.000000 tokens/s\t" + bubble + all + "69206016 peak-B\t" + read + joules,
		"",
	}, strings.Split(printed(t, "benchstat", Options{}, some()...), "\n"))
}

// The fields of llama-bench, in its order, then ours; null is empty.
func TestCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(printed(t, "csv", Options{}, some()...))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, strings.Fields(`build_commit build_number cpu_info gpu_info backends model_filename model_type model_size model_n_params n_batch n_ubatch n_threads
		cpu_mask cpu_strict poll type_k type_v n_gpu_layers n_cpu_moe split_mode main_gpu no_kv_offload flash_attn tensor_split tensor_buft_overrides
		load_mode use_mmap embeddings no_op_offload fit_target fit_min_ctx n_prompt n_gen n_depth test_time avg_ns stddev_ns avg_ts stddev_ts
		kernels schedule seed q b g arena_bytes resident_bytes plan_bytes peak_bytes bytes_read bytes_wasted guessed guess_hits guess_misses read_ns compute_ns wait_ns bubble_estimate
		tio_ns texec_ns tboth_ns bubble int8_share bf16_share energy_j tokens_per_j energy_source energy_note`), rows[0])
	at := func(row int, field string) string {
		for i, name := range rows[0] {
			if name == field {
				return rows[row][i]
			}
		}
		return "no such field"
	}
	require.Equal(t, []string{"1500000000", "350.000000", "", "", `no "counters", none`}, []string{at(1, "avg_ns"), at(1, "avg_ts"), at(1, "bubble"), at(1, "peak_bytes"), at(1, "energy_note")})
	require.Equal(t, []string{"0x0", "0", "1", "none", "0"}, []string{at(1, "cpu_mask"), at(1, "cpu_strict"), at(1, "flash_attn"), at(1, "split_mode"), at(1, "use_mmap")})
	require.Equal(t, []string{"0.400000", "69206016", "30.000000"}, []string{at(2, "bubble"), at(2, "peak_bytes"), at(2, "energy_j")})
}

// JSON is one array, also when nothing was measured; JSONL has an object a line.
func TestJSON(t *testing.T) {
	for n := range 3 {
		var array []map[string]any
		require.NoError(t, json.Unmarshal([]byte(printed(t, "json", Options{}, some()[:n]...)), &array))
		require.Len(t, array, n)
		lines := strings.SplitAfter(printed(t, "jsonl", Options{}, some()[:n]...), "\n")
		require.Len(t, lines, n+1)
		for i, v := range array {
			var line map[string]any
			require.NoError(t, json.Unmarshal([]byte(lines[i]), &line))
			require.Equal(t, v, line)
			require.Equal(t, []any{1e9, 2e9}, v["samples_ns"])
			require.Contains(t, v, "bubble")
		}
		if n == 2 {
			require.Nil(t, array[0]["bubble"])
			require.Equal(t, 0.4, array[1]["bubble"])
			require.Equal(t, map[string]any{"host": 30.0}, array[1]["energy_by_backend"])
			require.Contains(t, array[1]["profile"], "instructions")
		}
	}
}

func TestFormats(t *testing.T) {
	for _, f := range Formats() {
		r, w := io.Pipe()
		require.NoError(t, r.Close())
		p := NewPrinter(f, w, Options{})
		require.NotNil(t, p, f)
		require.ErrorIs(t, p.Print(some()[0]), io.ErrClosedPipe, f)
	}
	require.Nil(t, NewPrinter("sql", io.Discard, Options{}))
}
