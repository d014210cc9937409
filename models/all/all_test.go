package all_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models"
	"estream/models/all"
)

// Every family is found by each of its architectures, and by no other's.
func TestFamilies(t *testing.T) {
	families := all.Families()
	names := map[string]bool{}
	for _, f := range families {
		require.NotEmpty(t, f.Architectures, f.Name)
		require.False(t, names[f.Name], "two families are named %s", f.Name)
		names[f.Name] = true
		for _, a := range f.Architectures {
			found, err := models.Find(families, a)
			require.NoError(t, err)
			require.Equal(t, f.Name, found.Name)
		}
	}
	families[0].Name = "changed"
	require.NotEqual(t, "changed", all.Families()[0].Name, "the list is shared")
}
