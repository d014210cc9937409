package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
)

var weightTypes = []ir.DType{ir.F32, ir.F16, ir.BF16, ir.W8, ir.W4G32, ir.W4G64, ir.W4G128, ir.W4Full32, ir.W4Full64, ir.W4Full128}

// shapes have whole and ragged panels, and K that is no multiple of steps where the encoding lets it.
func shapes(d ir.DType) [][2]int {
	s := [][2]int{{1, 128}, {32, 128}, {33, 384}, {70, 256}}
	if d.Group(1) == 1 {
		s = append(s, [2]int{5, 1}, [2]int{40, 67}, [2]int{31, 130})
	}
	return s
}

func TestPackedSize(t *testing.T) {
	for _, c := range []struct {
		d    ir.DType
		want int64 // of an OLMoE expert: gate, up, down
	}{
		{ir.W4G128, 3244032},
		{ir.W4G64, 3342336},
		{ir.W4G32, 3538944},
		{ir.W4Full32, 3538944},
		{ir.W8, 6299648},
		{ir.BF16, 12582912},
		{ir.F32, 25165824},
	} {
		up, err := Packing.Size(ir.Tensor(c.d, ir.N(1024), ir.N(2048)))
		require.NoError(t, err)
		down, err := Packing.Size(ir.Tensor(c.d, ir.N(2048), ir.N(1024)))
		require.NoError(t, err)
		require.Equal(t, c.want, 2*up+down, c.d.String())
	}
}

func TestPackedSizeErrors(t *testing.T) {
	for _, c := range []struct{ typ, want string }{
		{"a8[2,64]", "packing host: type a8[2,64] is no matrix of weights"},
		{"i32[2,64]", "packing host: type i32[2,64] is no matrix of weights"},
		{"f32[64]", "packing host: type f32[64] is no matrix of weights"},
		{"f32[2,3,4]", "packing host: type f32[2,3,4] is no matrix of weights"},
		{"f32[P,64]", "packing host: type f32[P,64] has no size"},
		{"f32[0,64]", "packing host: type f32[0,64] has no size"},
		{"w4g64[8,96]", "packing host: type w4g64[8,96]: rows must be whole groups and at most 65536 long"},
		{"w8[1,65540]", "packing host: type w8[1,65540]: rows must be whole groups and at most 65536 long"},
		{"f32[2147483648,2147483648]", "packing host: type f32[2147483648,2147483648] is too large"},
	} {
		typ, err := ir.ParseType(c.typ)
		require.NoError(t, err)
		_, err = Packing.Size(typ)
		require.EqualError(t, err, c.want)
		require.EqualError(t, func() error { _, err := Packing.Unpack(nil, typ); return err }(), c.want)
	}
}

// TestLayout reads packed bytes by the formulas of Packing's documentation.
func TestLayout(t *testing.T) {
	for _, d := range weightTypes {
		for _, s := range shapes(d) {
			m, n, k := matrix(t, d, s[0], s[1]), s[0], s[1]
			w := packOf(t, m)
			require.Zero(t, len(w.Data)%64, "%s%v", d, s)
			panels := (n + 31) / 32
			stride := (len(w.Data) - panels*groups(d, k)*64) / panels
			for p := range panels {
				for c := range 32 {
					for i := range k {
						want, got := float32(0), float32(0)
						if row := 32*p + c; row < n {
							want = m.At(row, i)
						}
						at := w.Data[p*stride:]
						switch {
						case !d.Encoded():
							number := []float32{0}
							lower.Decode(number, at[(i*32+c)*d.Bits()/8:], d)
							got = number[0]
						case d == ir.W8:
							got = float32(int(at[i/4*128+c/16*64+c%16*4+i%4]) - 128)
						default:
							b := at[i/8*128+c/16*64+c%16*4+i%4]
							got = float32(int(b>>(i%8/4*4)&15) - 8)
						}
						if d.Encoded() {
							g := k / d.Group(k)
							scale := w.Data[panels*stride+((p*g+i/d.Group(k))*32+c)*2:]
							got *= quant.FromF16(uint16(scale[0])|uint16(scale[1])<<8) * m.Factor
						}
						if got != want {
							t.Fatalf("%s[%d,%d] panel %d column %d place %d is %g, want %g", d, n, k, p, c, i, got, want)
						}
					}
				}
			}
		}
	}
}

func TestPackUnpack(t *testing.T) {
	for _, d := range weightTypes {
		for _, s := range shapes(d) {
			m := matrix(t, d, s[0], s[1])
			w := packOf(t, m)
			typ := ir.Tensor(d, ir.N(s[0]), ir.N(s[1]))
			got, err := Packing.Unpack(w.Data, typ)
			require.NoError(t, err)
			require.Equal(t, float32(1), got.Factor)
			got.Factor = m.Factor
			require.Equal(t, m, got, "%s%v", d, s)

			require.EqualError(t, Packing.Pack(w.Data[64:], m), fmt.Sprintf("packing host: type %s takes %d bytes, not %d", typ, len(w.Data), len(w.Data)-64))
			_, err = Packing.Unpack(w.Data[1:], typ)
			require.EqualError(t, err, fmt.Sprintf("packing host: type %s takes %d bytes, not %d", typ, len(w.Data), len(w.Data)-1))
		}
	}
}

func TestUnpackRefusesCodes(t *testing.T) {
	w8, w4 := packed(t, ir.W8, 2, 8), packed(t, ir.W4G32, 2, 32)
	w8.Data[4+3] = 0   // row 1, place 3
	w4.Data[4+2] &= 15 // row 1, place 6
	_, err := Packing.Unpack(w8.Data, ir.Tensor(ir.W8, ir.N(2), ir.N(8)))
	require.EqualError(t, err, "packing host: code 3 of row 1 is -128, which w8 has not")
	_, err = Packing.Unpack(w4.Data, ir.Tensor(ir.W4G32, ir.N(2), ir.N(32)))
	require.EqualError(t, err, "packing host: code 6 of row 1 is -8, which w4g32 has not")
}

// FuzzUnpack unpacks any bytes; what unpacks packs to bytes that unpack to the same.
func FuzzUnpack(f *testing.F) {
	for i := range weightTypes {
		f.Add(uint8(i), uint8(33), uint8(3), []byte{0x88, 0x12, 0xff, 0x3c})
		f.Add(uint8(i), uint8(1), uint8(1), []byte{})
	}
	f.Fuzz(func(t *testing.T, d, n, k uint8, data []byte) {
		typ := ir.Tensor(weightTypes[int(d)%len(weightTypes)], ir.N(int(n)), ir.N(int(k)*32))
		size, err := Packing.Size(typ)
		if err != nil {
			return
		}
		src := make([]byte, size)
		for i := range src {
			if len(data) > 0 {
				src[i] = data[i%len(data)]
			}
		}
		m, err := Packing.Unpack(src, typ)
		if err != nil {
			return
		}
		dst := make([]byte, size)
		require.NoError(t, Packing.Pack(dst, m))
		again, err := Packing.Unpack(dst, typ)
		require.NoError(t, err)
		for i := range m.Q {
			if m.Q[i] != again.Q[i] {
				t.Fatalf("%s: code %d is %d, then %d", typ, i, m.Q[i], again.Q[i])
			}
		}
		require.Equal(t, m.Scale, again.Scale)
	})
}
