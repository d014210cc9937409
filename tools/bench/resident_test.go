package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/models/all"
	"estream/tools/pack"
	"estream/tools/synth"
)

// sparse is a bench of a model of which a short prompt wants few of the runs of
// experts that stay in memory together.
func sparse(t *testing.T) Options {
	t.Helper()
	text, err := os.ReadFile("../../testdata/olmoe/config.json")
	require.NoError(t, err)
	many := strings.NewReplacer(`"num_experts": 8`, `"num_experts": 128`, `"num_experts_per_tok": 3`, `"num_experts_per_tok": 2`).Replace(string(text))
	require.Equal(t, 2, strings.Count(many, `: 128`)+strings.Count(many, `_tok": 2`), many)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(many), 0o666))
	e, err := pack.FindEncoding("w4")
	require.NoError(t, err)
	o := tiny(t)
	o.Packages, o.Prompts, o.Repetitions = []string{filepath.Join(dir, "p")}, []int{1}, 2
	_, err = synth.Package(t.Context(), filepath.Join(dir, "config.json"), o.Packages[0], 1, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0], Families: all.Families(),
	})
	require.NoError(t, err)
	return o
}

// What no run wants is never read into memory, however often the rest is used.
func TestUnwantedWeights(t *testing.T) {
	apart, resident := sparse(t), sparse(t)
	apart.Bubble, resident.Resident = true, true
	for range 5 { // whether a guess comes in time is chance
		require.Len(t, results(t, apart)[0].SamplesExecNS, 2)
	}
	for range 5 {
		r := results(t, resident)[0]
		require.Zero(t, r.BytesRead)
		require.Equal(t, "after-routing", r.Schedule)
	}
}
