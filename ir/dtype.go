package ir

import "fmt"

// A DType is the element type of a tensor: a plain number, an encoding of a
// weight, a quantized activation, or an opaque state.
//
// An encoding says which values a tensor may hold (codes times scales), not how
// bytes are arranged: arranging is a lower.Packing's part.
type DType uint8

const (
	Invalid DType = iota
	F32
	F16
	BF16
	I32
	State     // a layer's memory between steps; its Type says what it holds
	W8        // weight, int8 -127..127, an f16 scale a row
	W4G32     // weight, int4 -7..7, an f16 scale for each 32 values of a row
	W4G64     // the same with groups of 64
	W4G128    // the same with groups of 128
	W4Full32  // weight, int4 -8..7 with a signed scale: GGUF's Q4_0 at groups of 32
	W4Full64  // the same with groups of 64
	W4Full128 // the same with groups of 128
	A8        // activation, int8 with an f32 scale a row
	A8G128    // activation, int8 with an f32 scale for each 128 values of a row
	numDTypes
)

var dtypes = [numDTypes]struct {
	name  string
	bits  int // of an element, scales apart
	group int // values that share a scale; 0: the whole row, or no scale
	full  bool
}{
	Invalid:   {name: "invalid"},
	F32:       {name: "f32", bits: 32},
	F16:       {name: "f16", bits: 16},
	BF16:      {name: "bf16", bits: 16},
	I32:       {name: "i32", bits: 32},
	State:     {name: "state"},
	W8:        {name: "w8", bits: 8},
	W4G32:     {name: "w4g32", bits: 4, group: 32},
	W4G64:     {name: "w4g64", bits: 4, group: 64},
	W4G128:    {name: "w4g128", bits: 4, group: 128},
	W4Full32:  {name: "w4full32", bits: 4, group: 32, full: true},
	W4Full64:  {name: "w4full64", bits: 4, group: 64, full: true},
	W4Full128: {name: "w4full128", bits: 4, group: 128, full: true},
	A8:        {name: "a8", bits: 8},
	A8G128:    {name: "a8g128", bits: 8, group: 128},
}

// ParseDType returns the DType that prints as s.
func ParseDType(s string) (DType, error) {
	for d := F32; d < numDTypes; d++ {
		if dtypes[d].name == s && d != State {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown type %q", s)
}

func (d DType) String() string {
	if d >= numDTypes {
		return "invalid"
	}
	return dtypes[d].name
}

// Bits returns the size of one element without its scales; 0 for State.
func (d DType) Bits() int { return dtypes[d].bits }

// Float reports whether d is a plain floating-point type.
func (d DType) Float() bool { return d == F32 || d == F16 || d == BF16 }

// Encoded reports whether d is a weight's encoding with codes and scales.
func (d DType) Encoded() bool { return d >= W8 && d <= W4Full128 }

// Activation reports whether d is a quantized activation.
func (d DType) Activation() bool { return d == A8 || d == A8G128 }

// Full reports whether int4 codes reach -8 and scales carry a sign.
func (d DType) Full() bool { return dtypes[d].full }

// Group returns how many of a row's k values share a scale.
func (d DType) Group(k int) int {
	if g := dtypes[d].group; g > 0 {
		return g
	}
	return k
}
