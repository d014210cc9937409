package quality

import (
	"math"
	"testing"
)

const (
	lossTolerance  = 1e-4 // of a block's loss in f32; sums in another order make 1e-6
	scoreTolerance = 1e-2 // of a choice's score in f32, near 100; the reference rounds to 1e-4

	// One choice in strays may be off by strayTolerance: where two experts are
	// equal to within rounding, either may be taken, by the reference too. (In
	// item kjv-108 of trained they are 2e-7 apart, and float64 disagrees with it.)
	strays, strayTolerance = 400, 0.5

	// An encoding's divergence, over the reference's: no more than most, and no
	// less than least, or something stayed as it was.
	most, least = 1.1, 0.5

	accuracyItems = 2 // that may be right here and wrong there, on balance
)

func checkLosses(t *testing.T, got, want []float64) (worst float64) {
	t.Helper()
	for i := range got {
		d := math.Abs(got[i] - want[i])
		if worst = max(worst, d); !(d <= lossTolerance) {
			t.Errorf("block %d: loss %.6f, want %.6f within %v", i, got[i], want[i], lossTolerance)
		}
	}
	return worst
}

func checkDivergence(t *testing.T, name string, got, want, bound float64) {
	t.Helper()
	if !(got <= bound*want) {
		t.Errorf("%s: divergence %.5f from f32 is %.2f of the reference's %.5f, want at most %v", name, got, got/want, want, bound)
	}
	if !(got >= least*want) {
		t.Errorf("%s: divergence %.5f from f32 is %.2f of the reference's %.5f, want at least %v: is it encoded?", name, got, got/want, want, least)
	}
}

// checkScores compares choices' scores, and the choices preferred by them.
func checkScores(t *testing.T, items []Item, got, want [][]float64) {
	t.Helper()
	choices, strayed := 0, 0
	for i, it := range items {
		for j := range it.Choices {
			d := math.Abs(got[i][j] - want[i][j])
			if choices++; d > scoreTolerance {
				strayed++
				t.Logf("item %s, choice %d strays: score %.4f, reference %.4f", it.ID, j, got[i][j], want[i][j])
			}
			if !(d <= strayTolerance) {
				t.Errorf("item %s, choice %d: score %.4f, want %.4f within %v", it.ID, j, got[i][j], want[i][j], scoreTolerance)
			}
		}
		for _, norm := range []bool{false, true} {
			if g, w := it.Best(got[i], norm), it.Best(want[i], norm); g != w {
				t.Errorf("item %s, norm %v: prefers choice %d by %v, want %d by %v", it.ID, norm, g, got[i], w, want[i])
			}
		}
	}
	if strayed > choices/strays {
		t.Errorf("%d scores of %d are more than %v off, at most one in %d may be", strayed, choices, scoreTolerance, strays)
	}
}

func checkAccuracy(t *testing.T, name string, got, want float64, items int) {
	t.Helper()
	if d := math.Round(math.Abs(got-want) * float64(items)); d > accuracyItems {
		t.Errorf("%s: accuracy %.3f, want %.3f: %v of %d items apart, %d allowed", name, got, want, d, items, accuracyItems)
	}
}
