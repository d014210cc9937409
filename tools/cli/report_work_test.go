package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
	"estream/tools/cli"
)

// Where a calibration leaves every expert to the host, one line says so.
func TestRunTellsNoWork(t *testing.T) {
	npu := lowertest.NewNPU()
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "npu", New: func(lower.Backend) lower.Backend {
		return static.New(npu, passes.Tiers{T: []int{16}, S: []int{1, 64}, R: []int{8}})
	}}}
	dir, tokens := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("1,2,3,4,5,6,7,8\n"), 0o600))
	succeeds := func(args ...string) (out, notes string) {
		code, out, notes := runApp(a, args...)
		require.Zero(t, code, "%v: %s", args, notes)
		return out, notes
	}
	calibrated := func(launch string, more ...string) (out, notes string) {
		succeeds(append([]string{"calibrate", "--batch", "8", "--launch-us", launch, "--body-us", "1", "--row-us", "1", "--host-expert-us", "2", "--host-row-us", "2", "--tokens-file", tokens, dir}, more...)...)
		return succeeds("run", "--tokens", "1,2,3", "--backend", "npu", dir)
	}
	succeeds("pack", "--encoding", "f32", "--backend", "npu", tiny, dir)
	const none = "device  no expert ran on the device: by the calibration each costs less on the host\n"
	out, notes := calibrated("100000")
	require.Contains(t, out, none)
	require.NotContains(t, out+notes, "launches of")
	require.Positive(t, npu.Runs(), "layers' bodies")
	out, notes = calibrated("0")
	told := regexp.MustCompile(`(?m)^device  [1-9]\d* launches of experts computed (\d+) rows: (\d+) of tokens and (\d+) of padding \(`).FindStringSubmatch(out)
	require.NotNil(t, told, out)
	var rows [3]int
	for i := range rows {
		var err error
		rows[i], err = strconv.Atoi(told[1+i])
		require.NoError(t, err)
	}
	require.Equal(t, rows[0], rows[1]+rows[2], "of tokens and of padding")
	require.Equal(t, 3*3*3, rows[1], "each of 3 tokens goes to 3 experts of 3 layers")
	require.NotContains(t, out+notes, none)
	require.NotContains(t, notes, "rows", "which is told once")

	_, notes = calibrated("0", "--row-tiers", "1", "--on-host=false", "--drop")
	require.Regexp(t, `(?m)^note: [1-9]\d* of 27 rows of experts were dropped, as the calibration says: these are not the model's results$`, notes)
	require.Zero(t, npu.Live(), "device memory that nobody freed")
}

// A run on a device tells what it cost each layer's experts that graphs have fixed sizes.
func TestRunTellsWork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-cpu", "--encoding", "f32", tiny, dir)
	on := func(backend string) []runtime.LayerWork {
		var x struct{ Work []runtime.LayerWork }
		text := ok(t, "run", "--json", "--tokens", "1,2,3,4,5", "--backend", backend, dir).out
		require.NoError(t, json.Unmarshal([]byte(text), &x))
		require.NotNil(t, x.Work, text)
		return x.Work
	}
	require.Empty(t, on("host"))
	require.NotContains(t, ok(t, "run", "--tokens", "1,2", dir).out, "device")
	qnnLibrary(t, "libQnnCpu.so")
	work := on("qnn-cpu")
	require.Len(t, work, 3)
	for l, w := range work {
		require.Equal(t, l, w.Layer)
		require.Positive(t, w.Launches)
		require.Zero(t, w.Rows%5, "each token goes to as many experts")
	}
	require.Regexp(t, `(?m)^device  \d+ launches of experts computed \d+ rows: 45 of tokens and \d+ of padding \([\d.]+ %, most in layer \d: [\d.]+ %\); \d+ second calls, 0 rows of 0 experts on the host$`,
		ok(t, "run", "--tokens", "1,2,3,4,5", "--backend", "qnn-cpu", dir).out)

	next := func() string { return ok(t, "run", "--json", "--tokens", "1,2,3", "--backend", "qnn-cpu", dir).out }
	top := func(text string) (out []int32) {
		var x struct {
			Top [][]struct{ ID int32 } `json:"top_tokens"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &x))
		for _, c := range x.Top[0] {
			out = append(out, c.ID)
		}
		return out
	}
	want := top(next())
	t.Setenv("ESTREAM_QNN_HEAD", "device")
	require.Equal(t, want, top(next()))
	t.Setenv("ESTREAM_QNN_WEIGHTS", "inside")
	require.Equal(t, want, top(next()))
	require.Empty(t, on("host"), "which has no such graphs")
	t.Setenv("ESTREAM_QNN_HEAD", "Device")
	require.Contains(t, run("run", "--tokens", "1", "--backend", "qnn-cpu", dir).errors, `ESTREAM_QNN_HEAD is "Device": want device or host`)
	t.Setenv("ESTREAM_QNN_HEAD", "host")
	t.Setenv("ESTREAM_QNN_WEIGHTS", "outside")
	r := run("run", "--tokens", "1", "--backend", "qnn-cpu", dir)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, `ESTREAM_QNN_WEIGHTS is "outside": want bound or inside`)
}
