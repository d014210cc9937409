package qnn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn"
	"estream/models/all"
	"estream/passes"
	"estream/tools/pack"
	"estream/tools/synth"
)

// TestHTPWide judges the families' graphs at the width of 256, as TestHTPFamilies
// does those of tiny models, with random weights: of few rows, and of so many that HTP
// computes otherwise.
func TestHTPWide(t *testing.T) {
	rows := []int{8, 16, 64}
	for _, c := range []struct {
		encoding   string
		within, kl float64
	}{{"bf16", 2e-3, 2e-5}, {"w4", 3e-3, 1e-3}} {
		h := htp(t, false)
		for _, family := range families {
			t.Run(c.encoding+" "+family, func(t *testing.T) {
				dir := wide(t, family, c.encoding)
				for _, n := range rows {
					prompt := make([]int32, n-1) // and a row of padding
					for i := range prompt {
						prompt[i] = int32(3+37*i) % 101
					}
					judgeModel(t, h, dir, [][]int32{prompt}, passes.Tiers{T: []int{n}, S: []int{16}, R: []int{2, max(n, 16)}}, c.within, c.kl)
				}
			})
		}
	}
}

// wide packs a family's model of width 256 and random weights, with experts of 128.
func wide(t testing.TB, family, encoding string) string {
	t.Helper()
	change := map[string]int{"hidden_size": 256, "intermediate_size": 128}
	if family != "mixtral" && family != "olmoe" { // whose dense layers have a size of their own
		change["intermediate_size"], change["moe_intermediate_size"] = 256, 128
	}
	if family != "lfm2" { // whose four layers are of four kinds
		change["num_hidden_layers"] = 2
	}
	return random(t, family, encoding, change)
}

// random packs a family's model with random weights and with some numbers of its
// config.json changed.
func random(t testing.TB, family, encoding string, change map[string]int) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../testdata", family, "config.json"))
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, json.Unmarshal(text, &config))
	for name, n := range change {
		require.Contains(t, config, name)
		config[name] = n
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
