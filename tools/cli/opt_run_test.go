package cli

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/passes"
)

// The pass that breaks a module is named, unless nobody is to look: then the passes
// after it get what it left.
func TestRunVerifies(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	text := "graph m\n  %1:x = input : f32[4]\n  %2 = silu %1 : f32[4]\n  return %2\n"
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	seen := ""
	ps := []passes.Pass{
		{Name: "keeps", Run: func(*ir.Module) error { return nil }},
		{Name: "breaks", Run: func(m *ir.Module) error { m.Graphs[0].Values[1].ID = 1; return nil }},
		{Name: "looks", Run: func(m *ir.Module) error { seen = m.String(); return nil }},
	}
	var after []string
	observe := func(name string) { after = append(after, name) }
	took, err := run(t.Context(), m.Clone(), ps, true, observe)
	require.EqualError(t, err, "pass breaks broke the module: graph m: %1 = silu: I2: id 1 is not positive or taken")
	require.Len(t, took, 2)
	require.Equal(t, []any{[]string{"keeps"}, ""}, []any{after, seen})

	after = nil
	took, err = run(t.Context(), m, ps, false, observe)
	require.NoError(t, err)
	require.Equal(t, []string{"keeps", "breaks", "looks"}, after)
	require.Contains(t, seen, "%1 = silu %1")
	require.Equal(t, []passTime{{"keeps", took[0].Seconds, 1, 2}, {"breaks", took[1].Seconds, 1, 2}, {"looks", took[2].Seconds, 1, 2}}, took)

	ctx, cancel := context.WithCancel(t.Context())
	ps[0].Run = func(*ir.Module) error { cancel(); return nil }
	whole, err := ir.Parse(text, ops)
	require.NoError(t, err)
	took, err = run(ctx, whole, ps, false, observe)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, took, 1)
}
