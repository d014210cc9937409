//go:build linux && (amd64 || arm64) && (cgo || !android)

package qnn_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn"
	"estream/lower/qnn/native"
)

// TestDLC writes a graph as a DLC, which the vendor's libQnnSystem then opens, and
// other files not.
func TestDLC(t *testing.T) {
	folder := libraries(t, "libQnnIr.so")
	opens := vendorsReader(t, filepath.Join(folder, "libQnnSystem.so"))
	for name, c := range map[string]native.Child{"in this process": {}, "by a child": child()} {
		for _, open := range []func(qnn.Options) *qnn.Device{qnn.CPU, qnn.HTP} {
			d := open(qnn.Options{Folder: folder, SoC: "v79", Child: c})
			path := filepath.Join(t.TempDir(), "g.dlc")
			require.NoError(t, d.DLC(t.Context(), parse(t, productText), qnn.Packing(), path), name)
			z, err := zip.OpenReader(path)
			require.NoError(t, err)
			var parts []string
			for _, f := range z.File {
				parts = append(parts, f.Name)
			}
			require.NoError(t, z.Close())
			require.Subset(t, parts, []string{"model", "model.params"}, "%s by %s", d.Name(), name)
			require.True(t, opens(path), "%s by %s", d.Name(), name)
		}
	}
	other := filepath.Join(t.TempDir(), "other.dlc")
	require.NoError(t, os.WriteFile(other, []byte("no archive"), 0o666))
	require.False(t, opens(other), "another file")

	d := qnn.HTP(qnn.Options{Folder: t.TempDir()})
	require.ErrorContains(t, d.DLC(t.Context(), parse(t, productText), qnn.Packing(), other), "qnn-htp: no library of QNN in ")
	require.ErrorIs(t, d.DLC(t.Context(), parse(t, productText), lower.Packing{Name: "host"}, other), lower.ErrUnsupported)
	bad := &ir.Graph{Name: "nothing"}
	require.Error(t, qnn.HTP(qnn.Options{Folder: folder}).DLC(t.Context(), bad, qnn.Packing(), other))
}

// vendorsReader returns whether libQnnSystem opens a DLC.
func vendorsReader(t *testing.T, library string) func(path string) bool {
	t.Helper()
	handle, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	require.NoError(t, err)
	var get func(list ***[24]uintptr, n *uint32) uint64
	purego.RegisterLibFunc(&get, handle, "QnnSystemInterface_getProviders")
	var list **[24]uintptr
	var n uint32
	require.Zero(t, get(&list, &n))
	require.NotZero(t, n)
	const functions, createFromFile, free = 4, 8, 12 // words into the interface; places among its functions
	table := (*list)[functions:]
	return func(path string) bool {
		name, dlc := append([]byte(path), 0), uintptr(0)
		code, _, _ := purego.SyscallN(table[createFromFile], 0, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&dlc)))
		if code != 0 {
			return false
		}
		code, _, _ = purego.SyscallN(table[free], dlc)
		require.Zero(t, code)
		return true
	}
}
