package native

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEncodings runs u16 activations against constant s8 weights whose encoding
// is of each kind, on HTP, and compares with the numbers that the integers stand for.
func TestEncodings(t *testing.T) {
	const m, k, n, block = 4, 64, 32, 16
	r := rand.New(rand.NewPCG(11, 12))
	scales, factors := make([]float32, n), make([]byte, n*k/block)
	for i := range scales {
		scales[i] = float32(1+r.IntN(4)) / 512
	}
	for i := range factors {
		factors[i] = byte(1 + r.IntN(15))
	}
	c := newContext(t, htp.open(t))
	for _, test := range []struct {
		name, op string
		quant    Quant
		limit    int // of the integers
		scale    func(row, column int) float64
	}{
		{"per tensor", "MatMul", Quant{Scale: 0.01}, 127, func(int, int) float64 { return 0.01 }},
		{"per axis", "FullyConnected", Quant{Scales: scales}, 127, func(i, _ int) float64 { return float64(scales[i]) }},
		{"4 bits per axis", "FullyConnected", Quant{Scales: scales, Bits: 4}, 7, func(i, _ int) float64 { return float64(scales[i]) }},
		{"4 bits in blocks", "FullyConnected", Quant{Scales: scales, BlockScales: factors, Bits: 4}, 7, func(i, j int) float64 {
			return float64(scales[i]) * float64(factors[i*k/block+j/block])
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := linear(test.name, UFixed16, m, k, n)
			d.Nodes[0].Op = test.op
			if test.op != "MatMul" {
				d.Nodes[0].Params = nil
			}
			w, data := make([]float64, n*k), make([]byte, n*k)
			for i := range w {
				q := r.IntN(2*test.limit+1) - test.limit
				w[i], data[i] = float64(q)*test.scale(i/k, i%k), byte(q)
			}
			in, x := make([]byte, 2*m*k), make([]float64, m*k)
			for i := range x {
				q := r.IntN(1 << 16)
				x[i] = float64(q-1<<15) / (1 << 15)
				binary.LittleEndian.PutUint16(in[2*i:], uint16(q))
			}
			want := product(x, w, m, k, n)
			largest := 0.0
			for _, v := range want {
				largest = max(largest, math.Abs(v))
			}
			step := float32(largest) / (1 << 15) * 1.01
			d.Tensors[0].Quant = Quant{Scale: 1.0 / (1 << 15), Offset: -1 << 15}
			d.Tensors[1].Kind, d.Tensors[1].Type, d.Tensors[1].Data, d.Tensors[1].Quant = Static, SFixed8, data, test.quant
			d.Tensors[2].Quant = Quant{Scale: step, Offset: -1 << 15}
			out := make([]byte, 2*m*n)
			require.NoError(t, htp.call(t, c, d).Execute([][]byte{in}, [][]byte{out}))
			got := make([]float64, len(want))
			for i := range got {
				got[i] = (float64(binary.LittleEndian.Uint16(out[2*i:])) - 1<<15) * float64(step)
			}
			requireClose(t, want, got, 2e-4) // six steps of the output
		})
	}
}
