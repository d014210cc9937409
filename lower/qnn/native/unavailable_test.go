package native

import (
	"go/build"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhoCalls says which builds can call the libraries, and that of the two files
// each build has one.
func TestWhoCalls(t *testing.T) {
	for system, calls := range map[[2]string][2]bool{ // without cgo, with it
		{"linux", "amd64"}: {true, true}, {"linux", "arm64"}: {true, true}, {"linux", "riscv64"}: {},
		{"android", "arm64"}: {false, true}, {"android", "amd64"}: {false, true}, {"android", "arm"}: {},
		{"windows", "amd64"}: {}, {"windows", "arm64"}: {}, {"darwin", "arm64"}: {},
	} {
		for i, cgo := range []bool{false, true} {
			c := build.Default
			c.GOOS, c.GOARCH, c.CgoEnabled = system[0], system[1], cgo
			for file, want := range map[string]bool{"purego.go": calls[i], "unavailable.go": !calls[i]} {
				got, err := c.MatchFile(".", file)
				require.NoError(t, err)
				require.Equal(t, want, got, "%s of %v, cgo %t", file, system, cgo)
			}
		}
	}
}
