package runtime_test

import (
	"errors"
	"regexp"
	"runtime/debug"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

var leastThatWorks = regexp.MustCompile(`the least that is sure to work is ([0-9.]+) MiB`)

// TestBudget: a budget that is too small is refused with the least that works,
// and that works.
func TestBudget(t *testing.T) {
	if raced {
		t.Skip("the race detector's own memory grows while runs do")
	}
	dir, prompts := packed(t, tiny, "w4"), openGolden(t).ragged()
	b := runtime.Batch{Prompts: prompts, Logits: runtime.All}
	want := run(t, open(t, dir, runtime.Options{}), b).Logits
	try := func(memory int64) (*runtime.Result, error) {
		debug.FreeOSMemory() // resident memory is part of the plan: let it settle
		m, err := runtime.Open(t.Context(), dir, runtime.Options{Memory: memory})
		require.NoError(t, err)
		defer func() { require.NoError(t, m.Close()) }()
		_, planErr := m.Plan(b)
		res, err := m.Run(t.Context(), b)
		require.Equal(t, errors.Is(err, runtime.ErrMemory), errors.Is(planErr, runtime.ErrMemory), "%d bytes: Run: %v, Plan: %v", memory, err, planErr)
		return res, err
	}
	for range 5 {
		_, err := try(1)
		require.ErrorIs(t, err, runtime.ErrMemory)
		named := leastThatWorks.FindStringSubmatch(err.Error())
		require.NotNil(t, named, "%v", err)
		mib, err := strconv.ParseFloat(named[1], 64)
		require.NoError(t, err)
		least := int64(mib * (1 << 20))

		_, err = try(least - 6<<20)
		require.ErrorIs(t, err, runtime.ErrMemory, "6 MiB less than the least")
		res, err := try(least)
		require.NoError(t, err, "the least that works")
		require.LessOrEqual(t, res.Plan.Bytes(), least)
		requireBits(t, want, res.Logits, "run with the least memory")
	}
}
