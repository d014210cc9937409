package runtime_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/runtime"
)

// TestActivationsAsRecorded opens packages whose policy names a type of
// activations: the graphs have that type, and a foreign word is refused.
func TestActivationsAsRecorded(t *testing.T) {
	for _, c := range []struct{ value, typ string }{{"a8: int8", "a8[T,128]"}, {"a8g128: int8", "a8g128[T,128]"}} {
		m := open(t, withActivations(t, packed(t, trained, "w8"), c.value), runtime.Options{})
		require.Contains(t, m.Module().String(), c.typ)
		require.Equal(t, 3*m.Vocab(), len(logitsOf(t, m, []int32{1, 2, 3})))
	}
	_, err := runtime.Open(t.Context(), withActivations(t, packed(t, tiny, "w8"), "int3: a guess"), runtime.Options{})
	require.ErrorContains(t, err, `policy: activations are "int3", want a8 or a8g128`)
}

func withActivations(t *testing.T, dir, value string) string {
	t.Helper()
	return edited(t, dir, func(m *layout.Manifest) {
		i := slices.IndexFunc(m.Policy, func(kv layout.KeyValue) bool { return kv.Key == "activations" })
		require.GreaterOrEqual(t, i, 0, "the policy names the activations")
		m.Policy[i].Value = value
	})
}
