package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/runtime"
)

// TestPlanAs plans in shapes as Options would give them, and keeps what a budget leaves.
func TestPlanAs(t *testing.T) {
	dir := packed(t, tiny, "w4")
	prompt := openGolden(t).ints("p33.input_ids")[0]
	b := runtime.Batch{Prompts: [][]int32{prompt}}
	free := open(t, dir, runtime.Options{})
	for _, s := range []runtime.Shape{{}, {Readers: 3}, {Banks: 5, Group: 2}, {Readers: 1, Banks: 1, Group: 1}} {
		want, err := open(t, dir, runtime.Options{Readers: s.Readers, Banks: s.Banks, Group: s.Group}).Plan(b)
		require.NoError(t, err)
		got, err := free.PlanAs(t.Context(), len(prompt), s, 0)
		require.NoError(t, err)
		want.Parts[0], got.Parts[0] = runtime.Part{}, runtime.Part{} // what the program itself takes
		require.Equal(t, want, got, "%+v", s)
		records, table := got.Pinned()
		require.Empty(t, records)
		require.False(t, table)
	}
	all, err := free.PlanAs(t.Context(), len(prompt), runtime.Shape{}, 1<<30)
	require.NoError(t, err)
	records, table := all.Pinned()
	require.True(t, table)
	require.Contains(t, records, runtime.Pinned{Stage: 1, Dense: true, Count: 1})
	require.Contains(t, records, runtime.Pinned{Stage: 2, Count: 8})
	_, err = free.PlanAs(t.Context(), len(prompt), runtime.Shape{}, 1)
	require.ErrorIs(t, err, runtime.ErrMemory)
	_, err = free.PlanAs(t.Context(), 0, runtime.Shape{}, 0)
	require.NoError(t, err, "of no tokens")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = free.PlanAs(ctx, len(prompt), runtime.Shape{}, 0)
	require.ErrorIs(t, err, context.Canceled)
}

// TestPlanSure: a budget that only just does here is refused, with one that is enough.
func TestPlanSure(t *testing.T) {
	m := open(t, packed(t, tiny, "w4"), runtime.Options{})
	const tokens = 33
	least, err := m.PlanAs(t.Context(), tokens, runtime.Shape{}, 1)
	require.ErrorIs(t, err, runtime.ErrMemory)
	_, err = m.PlanAs(t.Context(), tokens, runtime.Shape{}, least.Bytes())
	require.NoError(t, err)
	told, err := m.PlanSure(t.Context(), tokens, runtime.Shape{}, least.Bytes())
	require.ErrorIs(t, err, runtime.ErrMemory)
	require.Equal(t, least.Parts, told.Parts)
	mib := func(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
	require.ErrorContains(t, err, mib(least.Bytes())+" given, the least that is sure to work is "+mib(least.Bytes()+3<<20)+", ")
	for _, memory := range []int64{0, least.Bytes() + 2<<20, least.Bytes() + 3<<20} {
		p, err := m.PlanSure(t.Context(), tokens, runtime.Shape{}, memory)
		require.NoError(t, err, "%d bytes", memory)
		if memory > 0 {
			require.LessOrEqual(t, p.Bytes(), memory-2<<20)
		}
	}
}

// TestChoose: what Options.Choose picks is what runs, unless a shape is given.
func TestChoose(t *testing.T) {
	dir := packed(t, tiny, "w4")
	b := runtime.Batch{Prompts: [][]int32{openGolden(t).ints("p33.input_ids")[0]}, Logits: runtime.All}
	o := runtime.Options{Choose: func(m *runtime.Model, as func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
		return as(runtime.Shape{Readers: 4, Banks: 5, Group: 2})
	}}
	want := run(t, open(t, dir, runtime.Options{}), b)
	res := run(t, open(t, dir, o), b)
	require.Equal(t, []int{4, 5, 2}, []int{res.Plan.Readers, res.Plan.Geometry.Banks, res.Plan.Geometry.Group})
	requireBits(t, want.Logits, res.Logits, "another shape")
	o.Group = 1
	res = run(t, open(t, dir, o), b)
	require.Equal(t, []int{2, 4, 1}, []int{res.Plan.Readers, res.Plan.Geometry.Banks, res.Plan.Geometry.Group})

	o = runtime.Options{Choose: func(*runtime.Model, func(runtime.Shape) (runtime.Plan, error)) (runtime.Plan, error) {
		return runtime.Plan{}, errors.New("no plan")
	}}
	_, err := open(t, dir, o).Run(t.Context(), b)
	require.EqualError(t, err, "no plan")
}
