package native

import "fmt"

// DType is the type of a tensor's elements, by QNN's numbers. A fixed-point type
// is quantized and takes a Quant; Int and UInt are plain integers.
type DType uint32

// The types of elements that fill whole bytes. Integers of 4 bits stand in bytes,
// with Quant.Bits 4: the libraries take no other form.
const (
	Int8     DType = 0x0008
	Int16    DType = 0x0016
	Int32    DType = 0x0032
	Int64    DType = 0x0064
	UInt8    DType = 0x0108
	UInt16   DType = 0x0116
	UInt32   DType = 0x0132
	UInt64   DType = 0x0164
	Float16  DType = 0x0216
	BFloat16 DType = 0x0226
	Float32  DType = 0x0232
	SFixed8  DType = 0x0308
	SFixed16 DType = 0x0316
	SFixed32 DType = 0x0332
	UFixed8  DType = 0x0408
	UFixed16 DType = 0x0416
	UFixed32 DType = 0x0432
	Bool8    DType = 0x0508
)

// facts is what is known of a DType.
func (d DType) facts() (name string, size int) {
	switch d {
	case Int8:
		return "int8", 1
	case Int16:
		return "int16", 2
	case Int32:
		return "int32", 4
	case Int64:
		return "int64", 8
	case UInt8:
		return "uint8", 1
	case UInt16:
		return "uint16", 2
	case UInt32:
		return "uint32", 4
	case UInt64:
		return "uint64", 8
	case Float16:
		return "f16", 2
	case BFloat16:
		return "bf16", 2
	case Float32:
		return "f32", 4
	case SFixed8:
		return "s8", 1
	case SFixed16:
		return "s16", 2
	case SFixed32:
		return "s32", 4
	case UFixed8:
		return "u8", 1
	case UFixed16:
		return "u16", 2
	case UFixed32:
		return "u32", 4
	case Bool8:
		return "bool8", 1
	}
	return fmt.Sprintf("dtype(%#x)", uint32(d)), 0
}

func (d DType) String() string {
	name, _ := d.facts()
	return name
}

// Size returns the bytes of one element, 0 for a type that is not known.
func (d DType) Size() int {
	_, size := d.facts()
	return size
}

// Fixed reports whether d is a fixed-point type.
func (d DType) Fixed() bool { return d>>8 == 3 || d>>8 == 4 }
