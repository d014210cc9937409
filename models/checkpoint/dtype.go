package checkpoint

import (
	"math"
	"math/bits"
)

// A DType is an element type, spelled as in the file's format: "BF16", "F8_E4M3", "Q4_0".
type DType string

// Bits is the stored size of one element in bits, or 0 for a type that safetensors does not have.
func (d DType) Bits() int { return dtypes[d].bits }

// Exact reports whether stored values are the weights themselves. All other types (8-bit floats and smaller,
// integers, and types of other formats) are codes that mean nothing without scales, so a caller that has no scales
// for such a tensor must refuse it by name.
func (d DType) Exact() bool { return dtypes[d].exact }

type dtype struct {
	bits   int
	exact  bool
	decode decoder // nil: there is no float32 to decode to
}

// dtypes has every type of safetensors. The small floats are those of the OCP microscaling and FP8 specifications.
var dtypes = map[DType]dtype{
	"F64":  {bits: 64, exact: true, decode: decodeF64},
	"F32":  {bits: 32, exact: true, decode: decodeF32},
	"F16":  {bits: 16, exact: true, decode: decodeF16},
	"BF16": {bits: 16, exact: true, decode: decodeBF16},

	"F8_E4M3":     {bits: 8, decode: codes(8, set(minifloat(4, 3, 7), math.NaN(), 0x7f, 0xff))},
	"F8_E5M2":     {bits: 8, decode: codes(8, ieee(minifloat(5, 2, 15)))},
	"F8_E8M0":     {bits: 8, decode: codes(8, powers())},
	"F8_E4M3FNUZ": {bits: 8, decode: codes(8, set(minifloat(4, 3, 8), math.NaN(), 0x80))},
	"F8_E5M2FNUZ": {bits: 8, decode: codes(8, set(minifloat(5, 2, 16), math.NaN(), 0x80))},
	"F6_E2M3":     {bits: 6, decode: codes(6, minifloat(2, 3, 1))},
	"F6_E3M2":     {bits: 6, decode: codes(6, minifloat(3, 2, 3))},
	"F4":          {bits: 4, decode: codes(4, minifloat(2, 1, 1))},

	"BOOL": {bits: 8, decode: decodeBool},
	"U8":   {bits: 8, decode: decodeU8},
	"I8":   {bits: 8, decode: decodeI8},
	"U16":  {bits: 16, decode: decodeU16},
	"I16":  {bits: 16, decode: decodeI16},
	"U32":  {bits: 32, decode: decodeU32},
	"I32":  {bits: 32, decode: decodeI32},
	"U64":  {bits: 64, decode: decodeU64},
	"I64":  {bits: 64, decode: decodeI64},

	"C64": {bits: 64},
}

// elements multiplies dims. ok is false where the product, zeros left out, overflows: then a product of some of the
// dims would overflow too, and callers multiply those without looking.
func elements(dims []int) (n int64, ok bool) {
	n = 1
	empty := false
	for _, d := range dims {
		if d == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > math.MaxInt {
			return 0, false
		}
		n = int64(lo)
	}
	if empty {
		return 0, true
	}
	return n, true
}
