package checkpoint

import (
	"encoding/binary"
	"math"
	"testing"
)

// same compares bits, so that zeros have a sign; any NaN is as good as another.
func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func decodeOne(d DType, code uint64) float32 {
	var dst [1]float32
	dtypes[d].decode(dst[:], binary.LittleEndian.AppendUint64(nil, code), 0)
	return dst[0]
}

// Every code of the small floats is the top of a float16 code with another bias, NaNs and infinities apart.
func TestSmallFloatsAgainstF16(t *testing.T) {
	for _, c := range []struct {
		dtype    DType
		exp, man int
		bias     int
		nans     []int // codes
	}{
		{"F8_E5M2", 5, 2, 15, nil}, // float16 has the same NaNs and infinities
		{"F8_E4M3", 4, 3, 7, []int{0x7f, 0xff}},
		{"F8_E4M3FNUZ", 4, 3, 8, []int{0x80}},
		{"F6_E2M3", 2, 3, 1, nil},
		{"F6_E3M2", 3, 2, 3, nil},
		{"F4", 2, 1, 1, nil},
	} {
		half := 1 << (c.exp + c.man)
		for code := range 2 * half {
			sign, rest := code/half, code%half
			f16 := decodeOne("F16", uint64(sign<<15|rest<<(10-c.man)))
			want := f16 * float32(math.Ldexp(1, 15-c.bias))
			for _, n := range c.nans {
				if n == code {
					want = float32(math.NaN())
				}
			}
			if got := decodeOne(c.dtype, uint64(code)); !same(got, want) {
				t.Errorf("%s %#02x: got %v, want %v", c.dtype, code, got, want)
			}
		}
	}
}

func TestF4Values(t *testing.T) {
	want := []float32{0, 0.5, 1, 1.5, 2, 3, 4, 6}
	for code, v := range want {
		if got := decodeOne("F4", uint64(code)); got != v {
			t.Errorf("F4 %d: got %v, want %v", code, got, v)
		}
		if got := decodeOne("F4", uint64(code+8)); !same(got, float32(math.Copysign(float64(v), -1))) {
			t.Errorf("F4 %d: got %v, want %v", code+8, got, -v)
		}
	}
}

func TestE8M0Values(t *testing.T) {
	for code := range 256 {
		want := math.Float32frombits(uint32(code) << 23)
		switch code {
		case 0:
			want = math.Float32frombits(1 << 22) // 2^-127 has no normal form in float32
		case 255:
			want = float32(math.NaN())
		}
		if got := decodeOne("F8_E8M0", uint64(code)); !same(got, want) {
			t.Errorf("F8_E8M0 %d: got %v, want %v", code, got, want)
		}
	}
}

func TestBF16IsTheTopOfF32(t *testing.T) {
	for code := range uint64(1 << 16) {
		if got, want := decodeOne("BF16", code), decodeOne("F32", code<<16); !same(got, want) {
			t.Fatalf("BF16 %#04x: got %v, want %v", code, got, want)
		}
	}
}

func TestDecodeValues(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		dtype DType
		code  uint64
		want  float32
	}{
		{"F16", 0x0001, 1.0 / (1 << 24)},
		{"F16", 0x03ff, 1023.0 / (1 << 24)},
		{"F16", 0x0400, 1.0 / (1 << 14)},
		{"F16", 0x3555, 0.333251953125},
		{"F16", 0x7bff, 65504},
		{"F16", 0x8000, float32(math.Copysign(0, -1))},
		{"F16", 0xfc00, -inf},
		{"F16", 0x7e00, float32(math.NaN())},
		{"BF16", 0x3f80, 1},
		{"BF16", 0xc049, -3.140625},
		{"BF16", 0x0001, float32(math.Ldexp(1, -133))},
		{"F8_E4M3", 0x7e, 448},
		{"F8_E4M3", 0x01, 1.0 / 512},
		{"F8_E5M2", 0x7b, 57344},
		{"F8_E5M2", 0x7c, inf},
		{"F8_E4M3FNUZ", 0x7f, 240},
		{"F8_E5M2FNUZ", 0x7f, 57344},
		{"F8_E5M2FNUZ", 0x01, float32(math.Ldexp(1, -17))},
		{"F8_E5M2FNUZ", 0x80, float32(math.NaN())},
		{"F6_E2M3", 0x1f, 7.5},
		{"F6_E3M2", 0x1f, 28},
		{"F64", math.Float64bits(0.1), 0.1},
		{"F64", math.Float64bits(-1e300), -inf},
		{"F32", 0x7f7fffff, math.MaxFloat32},
		{"BOOL", 0, 0},
		{"BOOL", 1, 1},
		{"BOOL", 2, 1},
		{"U8", 0xff, 255},
		{"I8", 0x80, -128},
		{"U16", 0xffff, 65535},
		{"I16", 0x8000, -32768},
		{"U32", 0xffffffff, 1 << 32},
		{"I32", 0x80000000, -1 << 31},
		{"U64", math.MaxUint64, 1 << 64},
		{"I64", 1 << 63, -1 << 63},
		{"I64", 1<<24 + 1, 1 << 24}, // rounds to even
	} {
		if got := decodeOne(c.dtype, c.code); !same(got, c.want) {
			t.Errorf("%s %#x: got %v, want %v", c.dtype, c.code, got, c.want)
		}
	}
}

func TestExactTypes(t *testing.T) {
	exact := map[DType]bool{"F64": true, "F32": true, "F16": true, "BF16": true}
	for d, info := range dtypes {
		if d.Exact() != exact[d] {
			t.Errorf("%s: exact %v, want %v", d, d.Exact(), exact[d])
		}
		if (info.decode == nil) != (d == "C64") {
			t.Errorf("%s: decodes %v", d, info.decode != nil)
		}
	}
	if d := DType("Q4_0"); d.Exact() || d.Bits() != 0 {
		t.Errorf("%s: exact %v, bits %d", d, d.Exact(), d.Bits())
	}
}
