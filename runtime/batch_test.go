package runtime_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/pagertest"
	"estream/runtime"
)

// TestBatchEqualsAlone: prompts of different lengths in one batch give the bits
// that each gives alone.
func TestBatchEqualsAlone(t *testing.T) {
	prompts := openGolden(t).ragged()
	for _, encoding := range []string{"f32", "bf16", "w8", "w4"} {
		m := open(t, packed(t, tiny, encoding), runtime.Options{})
		all := run(t, m, runtime.Batch{Prompts: prompts, Logits: runtime.All})
		last := run(t, m, runtime.Batch{Prompts: prompts})
		require.Equal(t, []int32{0, 5, 17, 20}, all.Offsets)
		require.Equal(t, []int32{0, 1, 2, 3}, last.Offsets)
		for i, p := range prompts {
			alone := logitsOf(t, m, p)
			requireBits(t, alone, rowsOf(all, i), "%s: prompt %d in a batch", encoding, i)
			requireBits(t, alone[len(alone)-m.Vocab():], rowsOf(last, i), "%s: last row of prompt %d in a batch", encoding, i)
		}
	}
}

// rowsOf are the logits of one prompt of a batch.
func rowsOf(res *runtime.Result, prompt int) []float32 {
	return res.Logits[int(res.Offsets[prompt])*res.Vocab : int(res.Offsets[prompt+1])*res.Vocab]
}

func TestBatchRefused(t *testing.T) {
	m := open(t, packed(t, tiny, "f32"), runtime.Options{})
	tests := []struct {
		name    string
		prompts [][]int32
		want    string
	}{
		{"no prompts", nil, "the batch has no prompts"},
		{"an empty prompt", [][]int32{{1}, {}}, "prompt 1 is empty: give at least one token"},
		{"an id past the vocabulary", [][]int32{{1}, {2, 160}}, "prompt 1, token 1: id 160 is not in the vocabulary of 160"},
		{"a negative id", [][]int32{{-1}}, "prompt 0, token 0: id -1 is not in the vocabulary of 160"},
	}
	for _, tt := range tests {
		b := runtime.Batch{Prompts: tt.prompts}
		_, err := m.Run(t.Context(), b)
		require.EqualError(t, err, tt.want, "Run of %s", tt.name)
		_, err = m.Plan(b)
		require.EqualError(t, err, tt.want, "Plan of %s", tt.name)
	}
}

func TestLogitsNone(t *testing.T) {
	m := open(t, packed(t, tiny, "f32"), runtime.Options{})
	each := func(int, []float32) error { return errors.New("called") }
	res := run(t, m, runtime.Batch{Prompts: openGolden(t).ragged(), Logits: runtime.None, Each: each})
	require.Empty(t, res.Logits)
	require.Equal(t, []int32{0, 0, 0, 0}, res.Offsets)
}

// TestEach: a callback is given the rows of Result.Logits, in order.
func TestEach(t *testing.T) {
	prompts := openGolden(t).ragged()
	m := open(t, packed(t, tiny, "w4"), runtime.Options{Chunk: 3})
	for _, logits := range []runtime.Logits{runtime.Last, runtime.All} {
		want := run(t, m, runtime.Batch{Prompts: prompts, Logits: logits}).Logits
		var got []float32
		res := run(t, m, runtime.Batch{Prompts: prompts, Logits: logits, Each: func(row int, x []float32) error {
			require.Equal(t, len(got)/m.Vocab(), row)
			require.Len(t, x, m.Vocab())
			got = append(got, x...)
			return nil
		}})
		require.Nil(t, res.Logits)
		requireBits(t, want, got, "rows of Each")
	}
}

// TestHeadInRuns: a head of several runs of panels, read once a chunk of rows,
// gives the logits of one reading.
func TestHeadInRuns(t *testing.T) {
	dir := packed(t, trained, "w4")
	b := runtime.Batch{Prompts: [][]int32{{510, 247, 273, 5, 900}, {2047, 0, 17}}, Logits: runtime.All}
	var want []float32
	for _, chunk := range []int{0, 1, 3} {
		m := open(t, dir, runtime.Options{Chunk: chunk})
		require.Greater(t, len(m.Manifest().Dense), 4+1+1, "runs of the head, after 4 layers and a norm")
		got := run(t, m, b).Logits
		if want == nil {
			want = got
		}
		requireBits(t, want, got, "chunk %d", chunk)
	}
}

// TestEachFails: an error of a callback ends the run and comes back; a panic too
// leaves a model that works.
func TestEachFails(t *testing.T) {
	pagertest.CheckLeaks(t)
	prompts := openGolden(t).ragged()
	m := open(t, packed(t, tiny, "f32"), runtime.Options{Chunk: 3})
	want := run(t, m, runtime.Batch{Prompts: prompts, Logits: runtime.All}).Logits
	enough := errors.New("enough")
	calls := 0
	_, err := m.Run(t.Context(), runtime.Batch{Prompts: prompts, Logits: runtime.All, Each: func(row int, _ []float32) error {
		if calls++; row == 4 {
			return enough
		}
		return nil
	}})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 5, calls)
	require.PanicsWithValue(t, "enough", func() {
		_, _ = m.Run(t.Context(), runtime.Batch{Prompts: prompts, Logits: runtime.All, Each: func(int, []float32) error { panic("enough") }})
	})
	requireBits(t, want, run(t, m, runtime.Batch{Prompts: prompts, Logits: runtime.All}).Logits, "a run after a panic")
}

// TestCancel cancels a run in the middle: it ends with the cause, at the next
// step of its work, and the model works on.
func TestCancel(t *testing.T) {
	pagertest.CheckLeaks(t)
	prompts := openGolden(t).ragged()
	ctx, cancel := context.WithCancelCause(t.Context())
	var layers []int
	m := open(t, packed(t, tiny, "f32"), runtime.Options{Taps: []string{"y"}, Tap: func(x runtime.Tap) {
		if layers = append(layers, x.Layer); x.Layer == 1 {
			cancel(nil)
		}
	}})
	_, err := m.Run(ctx, runtime.Batch{Prompts: prompts})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []int{0, 1}, layers, "layers that ran")
	_, err = m.Run(ctx, runtime.Batch{Prompts: prompts})
	require.ErrorIs(t, err, context.Canceled, "a run whose context is done already")

	because := errors.New("because")
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(because)
	_, err = m.Run(ctx, runtime.Batch{Prompts: prompts})
	require.ErrorIs(t, err, because)
	run(t, m, runtime.Batch{Prompts: prompts})
}

// TestTurns runs one model from several goroutines.
func TestTurns(t *testing.T) {
	prompts := openGolden(t).ragged()
	m := open(t, packed(t, tiny, "w4"), runtime.Options{})
	var want [][]float32
	for _, p := range prompts {
		want = append(want, logitsOf(t, m, p))
	}
	var wg sync.WaitGroup
	got, errs := make([][]float32, 4*len(prompts)), make([]error, 4*len(prompts))
	for i := range got {
		wg.Go(func() {
			res, err := m.Run(t.Context(), runtime.Batch{Prompts: prompts[i%3:][:1], Logits: runtime.All})
			if errs[i] = err; err == nil {
				got[i] = res.Logits
			}
		})
	}
	wg.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		requireBits(t, want[i%3], got[i], "run %d", i)
	}
}

// TestTurnCancelled: a run that waits for its turn can be cancelled.
func TestTurnCancelled(t *testing.T) {
	prompts := openGolden(t).ragged()
	m := open(t, packed(t, tiny, "f32"), runtime.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Run(t.Context(), runtime.Batch{Prompts: prompts, Each: func(row int, _ []float32) error {
		if row > 0 {
			return nil
		}
		done := make(chan error)
		go func() {
			_, err := m.Run(ctx, runtime.Batch{Prompts: prompts})
			done <- err
		}()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		return nil
	}})
	require.NoError(t, err)
}

// requireBits compares logits bit for bit.
func requireBits(t testing.TB, want, got []float32, format string, args ...any) {
	t.Helper()
	require.Len(t, got, len(want), append([]any{format + ": logits"}, args...)...)
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) || want[i] != want[i] {
			t.Fatalf(format+": element %d is %v, want %v, bit for bit", append(args, i, got[i], want[i])...)
		}
	}
}
