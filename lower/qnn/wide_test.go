package qnn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn"
	"estream/models/all"
	"estream/tools/pack"
	"estream/tools/synth"
)

// TestHTPWide judges the families' graphs at the width of 256, as TestHTPFamilies
// does those of tiny models, with random weights.
func TestHTPWide(t *testing.T) {
	prompts := [][]int32{{3, 17, 5, 99, 42, 8, 64}}
	for _, c := range []struct {
		encoding   string
		within, kl float64
	}{{"bf16", 2e-3, 2e-5}, {"w4", 3e-3, 1e-3}} {
		h := htp(t, false)
		for _, family := range families {
			t.Run(c.encoding+" "+family, func(t *testing.T) {
				judgeModel(t, h, wide(t, family, c.encoding), prompts, c.within, c.kl)
			})
		}
	}
}

// wide packs a family's model of width 256 and random weights, with experts of 128.
func wide(t testing.TB, family, encoding string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../testdata", family, "config.json"))
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, json.Unmarshal(text, &config))
	inner := map[string]int{"hidden_size": 256, "intermediate_size": 256, "moe_intermediate_size": 128}
	if config["moe_intermediate_size"] == nil {
		inner = map[string]int{"hidden_size": 256, "intermediate_size": 128}
	}
	for name, n := range inner {
		config[name] = n
	}
	if family != "lfm2" { // whose four layers are of four kinds
		config["num_hidden_layers"] = 2
	}
	text, err = json.Marshal(config)
	require.NoError(t, err)
	from, dir := filepath.Join(t.TempDir(), "config.json"), filepath.Join(t.TempDir(), family)
	require.NoError(t, os.WriteFile(from, text, 0o666))
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	_, err = synth.Package(t.Context(), from, dir, 1, pack.Options{Encoding: e, Backend: "qnn", Packing: qnn.Packing(), Families: all.Families()})
	require.NoError(t, err)
	return dir
}
