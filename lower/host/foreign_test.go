package host

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/lower/host/kernel"
)

// reversed is a packing of another backend: the host's bytes in reverse, behind a
// line of 64 bytes.
var reversed = lower.Packing{
	Name: "reversed",
	Size: func(t ir.Type) (int64, error) {
		n, err := kernel.Packing.Size(t)
		return n + 64, err
	},
	Pack: func(dst []byte, m *quant.Matrix) error {
		if err := kernel.Packing.Pack(dst[64:], m); err != nil {
			return err
		}
		copy(dst, fmt.Sprintf("%-64s", "reversed"))
		slices.Reverse(dst[64:])
		return nil
	},
	Unpack: func(src []byte, t ir.Type) (*quant.Matrix, error) {
		if string(src[:8]) != "reversed" {
			return nil, fmt.Errorf("no reversed matrix")
		}
		b := slices.Clone(src[64:])
		slices.Reverse(b)
		return kernel.Packing.Unpack(b, t)
	},
}

// reversedRows is reversed, unpacked row by row.
func reversedRows() lower.Packing {
	p := reversed
	p.Rows = func(dst *quant.Matrix, src []byte, t ir.Type, from int) {
		m, err := p.Unpack(src, t)
		if err != nil {
			panic(err)
		}
		if !t.DType.Encoded() {
			copy(dst.F, m.F[from*m.K:])
			return
		}
		copy(dst.Q, m.Q[from*m.K:])
		copy(dst.Scale, m.Scale[from*(m.K/t.DType.Group(m.K)):])
	}
	return p
}
