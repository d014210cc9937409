package native

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOldLibrary opens a library of an API whose layouts are not known.
func TestOldLibrary(t *testing.T) {
	for _, c := range []struct {
		core Version
		want string
	}{
		{Version{2, 27, 0}, "libQnnHtp.so: core API 2.27.0, want 2.32.0 or a later minor version: install QAIRT 2.43 or a later 2.x, as with tools/qnn-libs"},
		{Version{3, 0, 0}, "libQnnHtp.so: core API 3.0.0, want 2.32.0 or a later minor version: install QAIRT 2.43 or a later 2.x, as with tools/qnn-libs"},
		{Version{2, 32, 0}, ""},
		{Version{2, 40, 1}, ""},
	} {
		l, err := libraryOf("libQnnHtp.so", []*cInterface{{core: c.core}})
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.core, l.Core())
	}
}

// TestOldForNode asks a library of a node that needs a later one. It is not called.
func TestOldForNode(t *testing.T) {
	b := &Backend{Library: &Library{path: "libQnnHtp.so", table: &cInterface{core: Version{2, 33, 1}}}, handle: 1}
	d := sample()
	d.Nodes[1].Since = Version{Major: 2, Minor: 34}
	const want = "graph sample: node sum (ReduceSum): it needs core API 2.34.0 or a later minor version, and libQnnHtp.so has 2.33.1: install a later QAIRT, as with tools/qnn-libs (--help lists which)"
	require.EqualError(t, b.Validate(d), want)
	c := &Context{backend: b, handle: 1}
	_, err := c.Build(d, GraphOptions{})
	require.EqualError(t, err, want)
	d.Nodes[1].Since.Minor = 33
	require.NoError(t, b.tooOld(d))
}
