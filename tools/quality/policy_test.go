package quality

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/pack"
)

// TestPolicies prints how far the encodings that pack offers are from f32, with
// all that they make of the weights:
//
//	go test ./tools/quality -run Policies -goldens ../shared/goldens -v
func TestPolicies(t *testing.T) {
	if *goldens == "" {
		t.Skip("takes a minute and a model from outside the repository: give -goldens DIR, the folder that holds trained/")
	}
	m := loadTrained(t, filepath.Join(fromRoot(*goldens), "trained"))
	var encoded []packed
	for _, name := range []string{"w8", "w4full", "w4g32", "w4g64", "w4g128"} {
		e, err := pack.FindEncoding(name)
		require.NoError(t, err)
		encoded = append(encoded, m.pack(t, e))
	}
	got, err := Compare(t.Context(), m.plain(t).Model, models(encoded), sampled(m.blocks))
	require.NoError(t, err)
	fmt.Print("| encoding | KL from f32 | same top-1 | perplexity |\n| --- | --- | --- | --- |\n")
	for i, e := range encoded {
		d := mean(got[i])
		fmt.Printf("| %s | %.5f | %.4f | %.3f |\n", e.name, d.KL, d.Top1, math.Exp(d.Loss))
	}
}

// fromRoot is a path that is given from the repository's root.
func fromRoot(dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join("..", "..", dir)
}
