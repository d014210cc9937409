package runtime_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/models/all"
	"estream/runtime"
	"estream/tools/pack"
	"estream/tools/synth"
)

const peakVar = "ESTREAM_TEST_PEAK" // the task of a process that runs a package: see peakTask

// A peakTask is a run whose peak is measured, in a process of its own: nothing else raised that.
type peakTask struct {
	readers, threads, tokens int
	memory                   int64
	chunk                    int // rows of a body at a time; 0: chosen
}

// wideConfig is a model that takes more than the program does, and runs in moments.
const wideConfig = `{
	"architectures": ["OlmoeForCausalLM"], "model_type": "olmoe", "hidden_size": 512, "intermediate_size": 512,
	"num_attention_heads": 8, "num_key_value_heads": 8, "num_experts": 16, "num_experts_per_tok": 4, "num_hidden_layers": 2,
	"vocab_size": 4096, "max_position_embeddings": 16384, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "hidden_act": "silu",
	"attention_bias": false, "norm_topk_prob": false, "tie_word_embeddings": false, "clip_qkv": null, "rope_scaling": null
}`

// TestPeak holds the plan against the most that processes have in memory: never more, and not much less.
func TestPeak(t *testing.T) {
	if task := os.Getenv(peakVar); task != "" {
		runPeak(t, task)
		return
	}
	if raced || runtime.PeakBytes() == 0 {
		t.Skip("the race detector's own memory is not planned, or the system does not tell the peak")
	}
	dir := wide(t)
	for _, c := range []peakTask{
		{1, 1, 16, 0, 0}, {1, 1, 512, 0, 0}, {2, 2, 512, 0, 0}, {8, 2, 512, 0, 0}, {32, 2, 512, 0, 0}, {2, 4, 512, 0, 0},
		{2, 2, 512, 36 << 20, 0}, {32, 2, 512, 40 << 20, 0}, {1, 2, 2048, 0, 0}, {64, 2, 2048, 0, 0}, {2, 2, 8192, 0, 0},
		{1, 1, 2048, 0, 1}, {16, 2, 2048, 0, 4}, // some thousand calls, whose garbage a busy collector leaves
	} {
		for i, r := range peaksOf(t, dir, c) {
			t.Logf("%+v, run %d: a peak of %d bytes, %.3f of the plan, %.3f but for threads: %s", c, i, r.peak, float64(r.peak)/float64(r.plan), float64(r.peak)/float64(r.plan-r.threads), r.told)
			require.LessOrEqual(t, r.peak, r.plan, "%+v, run %d: the peak, of %s", c, i, r.told)
			// What is for garbage, and for routes that all lead to one group, is a larger share of fewer tokens; weights
			// that stay in memory leave their places in the arena untouched; how many threads are at once is chance.
			if c.tokens >= 512 && c.memory == 0 && c.chunk == 0 {
				require.GreaterOrEqual(t, 10*r.peak, 9*(r.plan-r.threads), "%+v, run %d: ten times the peak, of %s", c, i, r.told)
			}
			if c.memory > 0 {
				require.LessOrEqual(t, r.plan, c.memory, "%+v, run %d: %s", c, i, r.told)
			}
		}
	}
}

// wide makes the package of wideConfig.
func wide(t *testing.T) string {
	t.Helper()
	config, dir := filepath.Join(t.TempDir(), "config.json"), filepath.Join(t.TempDir(), "wide")
	require.NoError(t, os.WriteFile(config, []byte(wideConfig), 0o644))
	e, err := pack.FindEncoding("w4g128")
	require.NoError(t, err)
	_, err = synth.Package(t.Context(), config, dir, 1, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0], Families: all.Families(),
	})
	require.NoError(t, err)
	return dir
}

// A peak is the most that a process had in memory after a run, and what was planned for that, of it for threads.
type peak struct {
	plan, threads, peak int64
	told                string
}

// peaksOf returns the peaks of a task's two runs.
func peaksOf(t *testing.T, dir string, c peakTask) (out [2]peak) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPeak$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %d %d %q", peakVar, c.readers, c.threads, c.tokens, c.memory, c.chunk, dir))
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%+v: %s", c, text)
	a, b := &out[0], &out[1]
	_, err = fmt.Sscanf(string(text), "%d %d %d %q\n%d %d %d %q", &a.plan, &a.threads, &a.peak, &a.told, &b.plan, &b.threads, &b.peak, &b.told)
	require.NoError(t, err, "%+v: %s", c, text)
	return out
}

// runPeak prints plan and peak of a model's runs, begun as the command does: in the first,
// threads begin, and in the second what it left is there.
func runPeak(t *testing.T, task string) {
	var c peakTask
	var dir string
	_, err := fmt.Sscanf(task, "%d %d %d %d %d %q", &c.readers, &c.threads, &c.tokens, &c.memory, &c.chunk, &dir)
	require.NoError(t, err)
	debug.SetGCPercent(25)
	goruntime.GOMAXPROCS(c.threads + c.readers)
	m := open(t, dir, runtime.Options{Readers: c.readers, Threads: c.threads, Memory: c.memory, Chunk: c.chunk})
	debug.FreeOSMemory()
	ids := make([]int32, c.tokens)
	for i := range ids {
		ids[i] = int32(1 + (7*i+i*i/64)%4000)
	}
	for range 2 {
		plan := run(t, m, runtime.Batch{Prompts: [][]int32{ids}}).Plan
		threads := plan.Parts[slices.IndexFunc(plan.Parts, func(p runtime.Part) bool { return p.Name == "threads" })].Bytes
		fmt.Printf("%d %d %d %q\n", plan.Bytes(), threads, runtime.PeakBytes(), plan)
	}
}
