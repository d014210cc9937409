package lower

import "unsafe"

// F32, I32, U16 and I8 view bytes as numbers of the machine's order, which is
// little-endian wherever this module runs. b must be aligned to the number's size.
func F32(b []byte) []float32 { return view[float32](b) }

func I32(b []byte) []int32 { return view[int32](b) }

func U16(b []byte) []uint16 { return view[uint16](b) }

func I8(b []byte) []int8 { return view[int8](b) }

func view[E any](b []byte) []E {
	var e E
	if len(b) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%unsafe.Alignof(e) != 0 {
		panic("lower: view of unaligned bytes")
	}
	return unsafe.Slice((*E)(p), len(b)/int(unsafe.Sizeof(e)))
}

// Wrap is a Mem over a slice of the Go heap, for small inputs that the host
// makes: positions, rows, ids. Freeing it does nothing.
func Wrap[E int8 | uint16 | int32 | float32](s []E) Mem {
	var e E
	if len(s) == 0 {
		return wrapped(nil)
	}
	return wrapped(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(e))))
}

type wrapped []byte

func (w wrapped) Bytes() []byte { return w }
func (w wrapped) Free() error   { return nil }
