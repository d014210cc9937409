package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/weights"
)

// measured is what inspect --weights prints of a checkpoint of the repository.
func measured(t testing.TB, f weightsFlags, asJSON bool) string {
	t.Helper()
	var out, errors bytes.Buffer
	app := Default()
	app.Stdout, app.Stderr = &out, &errors
	require.NoError(t, app.inspectWeights(t.Context(), "../../testdata/olmoe", f, asJSON), errors.String())
	return out.String()
}

func TestInspectWeights(t *testing.T) {
	text := measured(t, weightsFlags{}, false)
	require.Regexp(t, `(?m)^weight +type +values +min +max +rms +peak +outliers +kurtosis  SNR dB: +bf16 +w8 +w4g32 +w4g64 +w4g128 +w4full32$`, text)
	require.Regexp(t, `(?m)^expert\.gate\.weight \(24\) +f32 +49152 +-?\d\S* +\d\S* .* +5\d\.\d +4\d\.\d +2\d\.\d +\d\d\.\d +- +\d\d\.\d$`, text)
	require.Regexp(t, `(?m)^attn\.norm\.weight \(3\) .* +(\d\d\.\d|exact) +- +- +- +- +-$`, text, "vectors stay plain")
	require.Regexp(t, `(?m)^hardest   as w4g64: layer \d expert \d expert\.`, text)
	require.Regexp(t, `(?m)^layer 2   8 experts, mean -?0\.\d{4}; most alike are \d and \d, 0\.\d{4}$`, text)
	require.Regexp(t, `(?m)^layer \d: ' ' -0\.\d{4} to '@' 0\.\d{4}, an expert a line and a column\n(    \d [ .:=+*#%@\\-]{8}\n){8}`, text)
	require.NotContains(t, text, "rounded before")

	text = measured(t, weightsFlags{layers: []string{"1"}, each: true}, false)
	require.Regexp(t, `(?m)^layer 1 expert 7 expert\.up\.weight +f32 +2048 `, text)
	require.NotContains(t, text, "layer 0")

	var v struct {
		Tensors []map[string]any `json:"tensors"`
		Similar []struct {
			Layer  int         `json:"layer"`
			Cosine [][]float64 `json:"cosine"`
		} `json:"expert_similarity"`
	}
	require.NoError(t, json.Unmarshal([]byte(measured(t, weightsFlags{}, true)), &v))
	require.Len(t, v.Tensors, 102)
	require.Len(t, v.Similar, 3)
	require.Len(t, v.Similar[2].Cosine, 8)
	require.Equal(t, 1.0, v.Similar[2].Cosine[5][5])
	require.Equal(t, v.Similar[2].Cosine[5][3], v.Similar[2].Cosine[3][5])
	for _, key := range []string{"layer", "expert", "name", "type", "shape", "values", "min", "max", "rms", "outliers", "encodings"} {
		require.Contains(t, v.Tensors[0], key)
	}
}

// What is no expert's is not told of as hard to pack as experts are, however hard it is.
func TestHardest(t *testing.T) {
	lossy := func(layer, expert int, name string, noise float64) weights.Stats {
		return weights.Stats{ID: weights.ID{Layer: layer, Expert: expert, Name: name}, Max: 2, RMS: 1, Errors: []weights.Loss{{Encoding: "w4g64", Signal: 100, Noise: noise}}}
	}
	var lines []string
	printHardest(func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }, []weights.Stats{
		lossy(0, -1, "ffn.router.weight", 100), lossy(0, 3, "expert.up.weight", 1), lossy(1, 0, "expert.up.weight", 10), lossy(-1, -1, "head.weight", 50),
	})
	require.Equal(t, []string{
		"hardest   as w4g64: layer 1 expert 0 expert.up.weight, 10.0 dB, peak 2.0",
		"hardest   as w4g64: layer 0 expert 3 expert.up.weight, 20.0 dB, peak 2.0",
	}, lines)
}

func TestWeightsFlags(t *testing.T) {
	require.NoError(t, (&weightsFlags{on: true, layers: []string{"1"}}).check())
	for _, f := range []weightsFlags{{layers: []string{"1"}}, {sample: 3}, {each: true}} {
		require.ErrorContains(t, f.check(), "--layer, --sample and --each are for --weights")
	}
	var usage usageError
	require.ErrorAs(t, Default().inspectWeights(t.Context(), "../../testdata/olmoe", weightsFlags{layers: []string{"x"}}, false), &usage)
	require.ErrorContains(t, Default().inspectWeights(t.Context(), "../../testdata/olmoe", weightsFlags{layers: []string{"9"}}, false), "no weights of layer 9: the last that has some is 2")
}
