package runtime

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
)

// TestSourceThatCannotOpen: a file that cannot be opened leaves no source, not a
// nil pointer in an interface, which Close would call.
func TestSourceThatCannotOpen(t *testing.T) {
	m := &Model{pkg: &layout.Package{Dir: t.TempDir()}}
	s, err := m.source(layout.ExpertsName)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.True(t, s == nil, "%T is not nil", s)
}
