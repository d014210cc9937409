package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/simulate"
)

// TestGuesses simulates a token of OLMoE's sizes from a source of 1 GB/s, by how long the body of a layer takes and how
// many guesses are right, under three schedules with the arenas that they have by default: when guesses pay.
func TestGuesses(t *testing.T) {
	const file, draws = "testdata/guesses.txt", 20
	var b strings.Builder
	fmt.Fprintf(&b, "%6s %6s %15s %15s %10s\n", "body", "right", "before-routing", "after-routing", "guessed")
	for _, body := range []time.Duration{1, 5, 15} {
		for _, right := range []float64{0.5, 0.7, 0.9} {
			fmt.Fprintf(&b, "%3d ms %4.0f %%", body, 100*right)
			for i, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.Guessed} {
				sum := time.Duration(0)
				for seed := range uint64(draws) {
					totals, err := simulate.Run(token(seed, schedule, body*time.Millisecond, right))
					require.NoError(t, err)
					sum += totals.Time
				}
				fmt.Fprintf(&b, " %*.3f s", []int{13, 13, 8}[i], (sum / draws).Seconds())
			}
			b.WriteString("\n")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// token is a token's way through 16 layers, each of which wants 8 of 64 experts (int4 with a scale for each 128), and a
// head (int8, in parts of 1 MiB); of the 8 that are guessed a share is right.
func token(seed uint64, schedule pager.Schedule, body time.Duration, right float64) simulate.Config {
	const dense, stride, part = 16_800_000, 3_244_032, 1 << 20
	rng := rand.New(rand.NewPCG(seed, 1))
	c := simulate.Config{
		Arena: pager.Geometry{Banks: 4, Group: 8, Stride: stride, DenseSlot: dense}, Schedule: schedule, Readers: 2, Heads: 1,
		Disk: simulate.Disk{Rate: 1e9, Latency: 100 * time.Microsecond},
	}
	if schedule == pager.Guessed {
		c.Arena.Banks, c.Arena.Group = 32, 1
	}
	for range 16 {
		rows, guess, order := make([]int, 64), []int(nil), rng.Perm(64)
		for i, e := range order[:8] {
			rows[e] = 1
			if rng.Float64() >= right {
				e = order[8+i]
			}
			guess = append(guess, e)
		}
		if n := len(c.Stages); n > 0 {
			c.Stages[n-1].After = guess
		}
		c.Stages = append(c.Stages, simulate.Stage{
			Dense: []simulate.Dense{{Bytes: dense, Time: body}}, Stride: stride, Rows: rows, Before: guess,
			Group: func(rows []int) time.Duration { return time.Duration(len(rows)) * 300 * time.Microsecond },
		})
	}
	head := make([]simulate.Dense, 99)
	for i := range head {
		head[i] = simulate.Dense{Bytes: part, Time: 60 * time.Microsecond}
	}
	c.Stages = append(c.Stages, simulate.Stage{Dense: head})
	return c
}
