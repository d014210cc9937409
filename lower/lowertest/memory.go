package lowertest

import (
	"reflect"

	"estream/ir"
	"estream/lower"
)

// hostMem is plain memory of the Go heap.
type hostMem []byte

// Bytes implements lower.Mem.
func (m hostMem) Bytes() []byte { return m }

// Free implements lower.Mem.
func (m hostMem) Free() error { return nil }

// aligned returns zeroed bytes that start at a multiple of align, a power of two.
func aligned(bytes, align int64) []byte {
	b := make([]byte, bytes+align)
	skip := -reflect.ValueOf(b).Pointer() & uintptr(align-1)
	return b[skip:][:bytes:bytes]
}

// hostBuffer returns a buffer of type t over b.
func hostBuffer(b []byte, t ir.Type) lower.Buffer {
	return lower.Buffer{Mem: hostMem(b), Len: int64(len(b)), Type: t}
}
