package kernel

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantizeA8(t *testing.T) {
	for _, c := range []struct {
		name  string
		x     []float32
		codes []int8
		scale float32
	}{
		{"scale 1", []float32{127, -127, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49}, []int8{127, -127, 0, 2, 2, 0, -2, 0}, 1},
		{"scale 2", []float32{3, -254, 5, 1}, []int8{2, -127, 2, 0}, 2},
		{"zeros", []float32{0, float32(math.Copysign(0, -1))}, []int8{0, 0}, 0},
		{"1/s is infinite", []float32{1e-38, -1e-40}, []int8{0, 0}, 0},
		{"subnormal scale", []float32{4e-37, -2e-37}, []int8{127, -64}, 4e-37 / 127},
		{"huge", []float32{math.MaxFloat32, -math.MaxFloat32}, []int8{127, -127}, math.MaxFloat32 / 127},
	} {
		row := make([]byte, a8RowBytes(len(c.x), false))
		for i := range row {
			row[i] = 0xee
		}
		require.NoError(t, plain.QuantizeA8(row, c.x, 1, len(c.x), false))
		for i, want := range c.codes {
			require.Equal(t, want, int8(row[i]), "%s: code %d", c.name, i)
		}
		require.Equal(t, c.scale, a8Scale(row, len(c.x), 0), c.name)
		require.Equal(t, make([]byte, 64-len(c.x)), row[len(c.x):64], "%s: gap", c.name)
	}
}

// TestQuantizeA8Steps compares with the definition, step by step in f32.
func TestQuantizeA8Steps(t *testing.T) {
	const rows, k = 3, 256
	x := normal(rows*k, 8)
	clear(x[k : k+128])
	for _, blocks := range []bool{false, true} {
		n, size := a8Groups(k, blocks), a8RowBytes(k, blocks)
		got := make([]byte, rows*size)
		require.NoError(t, plain.QuantizeA8(got, x, rows, k, blocks))
		for g := range rows * n {
			group, r := x[g*k/n:(g+1)*k/n], g/n
			top := float32(0)
			for _, v := range group {
				top = max(top, float32(math.Abs(float64(v))))
			}
			s := top / 127
			require.Equal(t, s, math.Float32frombits(binary.LittleEndian.Uint32(got[r*size+k+4*(g%n):])))
			for i, v := range group {
				want := int8(0)
				if s > 0 {
					want = int8(math.RoundToEven(float64(v * (1 / s))))
				}
				require.Equal(t, want, int8(got[r*size+g%n*k/n+i]), "blocks=%v group %d value %d", blocks, g, i)
			}
		}
	}
}

func TestQuantizeA8Errors(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		x := normal(3*128, 1)
		x[2*128+17] = bad
		for _, blocks := range []bool{false, true} {
			for _, s := range Sets() {
				err := s.QuantizeA8(make([]byte, 3*a8RowBytes(128, blocks)), x, 3, 128, blocks)
				require.EqualError(t, err, "row 2: it holds an infinity or NaN", s.String())
			}
		}
	}
}
