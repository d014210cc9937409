//go:build linux && (amd64 || arm64) && (cgo || !android)

package native

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// TestOpByValue shows where C finds an operator that it is given by value, which
// has ten words: on amd64 on the stack, behind six arguments in registers; on
// arm64 in a copy, whose address is an argument.
func TestOpByValue(t *testing.T) {
	var h hold
	defer h.Unpin()
	n := &Node{Name: "product", Op: "MatMul"}
	op := h.op(n, make([]cTensor, 2), make([]cTensor, 1), make([]cParam, 3))
	var handle uintptr
	var got [10]uintptr
	var f uintptr
	switch runtime.GOARCH {
	case "amd64":
		f = purego.NewCallback(func(first, _, _, _, _, _, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 uintptr) uintptr {
			handle, got = first, [10]uintptr{s0, s1, s2, s3, s4, s5, s6, s7, s8, s9}
			return 3110
		})
	default:
		f = purego.NewCallback(func(first uintptr, words *[10]uintptr) uintptr {
			handle, got = first, *words
			return 3110
		})
	}
	require.Equal(t, uint64(3110), withOp(symbol(f))(0x1234, op))
	require.Equal(t, uintptr(0x1234), handle)
	require.Equal(t, op, *(*cOp)(unsafe.Pointer(&got)))
	require.Equal(t, "MatMul", goString((*cOp)(unsafe.Pointer(&got)).op))
}
