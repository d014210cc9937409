package cli_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

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
	require.Regexp(t, `(?m)^device  \d+ launches of experts for \d+ rows, [\d.]+ % of what it computed padding, most in layer \d \([\d.]+ %\); \d+ second calls, 0 rows dropped, 0 experts of 0 rows on the host$`,
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
