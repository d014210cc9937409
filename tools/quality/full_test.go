package quality

import (
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var goldens = flag.String("goldens", "", "folder that holds trained/, relative to the repository's root: TestFull judges it and testdata/trained-small whole")

// TestFull judges both trained models on all of their texts and items, in
// minutes, and prints a table in Markdown:
//
//	go test ./tools/quality -run Full -goldens ../shared/goldens -timeout 60m -v
func TestFull(t *testing.T) {
	if *goldens == "" {
		t.Skip("takes minutes and a model from outside the repository: give -goldens DIR, the folder that holds trained/")
	}
	table := new(strings.Builder)
	defer func() { fmt.Print("\n", table, "\n") }()
	table.WriteString("| model | encoding | weights, MiB | packed in, s | loss, all blocks (reference; worst block) | perplexity, 16 blocks (reference) | KL from f32 (reference; ratio) | same top-1 (reference) | acc (reference) | acc_norm (reference) | items in, s |\n")
	table.WriteString("|" + strings.Repeat(" --- |", 11) + "\n")
	for _, dir := range []string{"../../testdata/trained-small", filepath.Join(fromRoot(*goldens), "trained")} {
		t.Run(filepath.Base(dir), func(t *testing.T) { full(t, loadTrained(t, dir), table) })
	}
}

// full checks one model, and adds its rows to the table.
func full(t *testing.T, m *trained, table *strings.Builder) {
	plain, encoded := m.plain(t), m.encoded(t)
	losses, err := Losses(t.Context(), plain.Model, m.blocks)
	require.NoError(t, err)
	worst := checkLosses(t, losses, m.ref.Perplexity.Losses)
	row(t, m, table, plain,
		fmt.Sprintf("%.5f (%.5f; %.1e)", average(losses), m.ref.Perplexity.Loss, worst),
		fmt.Sprintf("%.3f (%.3f)", math.Exp(average(sampled(losses))), m.ref.Quant[encodings()[0].row].Plain), "", "")

	got, err := Compare(t.Context(), plain.Model, models(encoded), sampled(m.blocks))
	require.NoError(t, err)
	for i, e := range encodings() {
		d, want := mean(got[i]), m.ref.Quant[e.row]
		checkDivergence(t, encoded[i].name, d.KL, want.KL, most)
		row(t, m, table, encoded[i], "",
			fmt.Sprintf("%.3f (%.3f)", math.Exp(d.Loss), want.PPL),
			fmt.Sprintf("%.5f (%.5f; %.2f)", d.KL, want.KL, d.KL/want.KL),
			fmt.Sprintf("%.4f (%.4f)", d.Top1, want.Top1))
	}
}

// row answers the items and adds a package's row to the table.
func row(t *testing.T, m *trained, table *strings.Builder, p packed, cells ...string) {
	begun := time.Now()
	got, err := Scores(t.Context(), p.Model, m.tok, endOfText, m.items)
	require.NoError(t, err)
	elapsed := time.Since(begun)
	acc, norm := Accuracy(m.items, got, false), Accuracy(m.items, got, true)
	switch p.name {
	case "f32":
		checkScores(t, m.items, got, m.ref.MC.Scores)
		fallthrough
	case "w8":
		checkAccuracy(t, p.name+" acc", acc, m.ref.MC.Acc, len(m.items))
		checkAccuracy(t, p.name+" acc_norm", norm, m.ref.MC.AccNorm, len(m.items))
	}
	fmt.Fprintf(table, "| %s | %s | %.1f | %.2f | %s | %.3f (%.3f) | %.3f (%.3f) | %.1f |\n", filepath.Base(m.dir), p.name, float64(p.bytes)/(1<<20),
		p.elapsed.Seconds(), strings.Join(cells, " | "), acc, m.ref.MC.Acc, norm, m.ref.MC.AccNorm, elapsed.Seconds())
}

func average(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}
