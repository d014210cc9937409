package quant

import (
	"fmt"
	"math"
)

// full chooses codes and scales as GGUF's Q4_0 does: codes by the scale before
// it is rounded, in f32, halves away from -8.
func (m *Matrix) full(w []float32) error {
	g := m.DType.Group(m.K)
	for i := range m.Scale {
		group := w[i*g : (i+1)*g]
		top, at := float32(0), 0
		for j, v := range group {
			if magnitude(v) > magnitude(top) {
				top, at = v, i*g+j
			}
		}
		d := top / -8
		m.Scale[i] = F16(d)
		if m.Scale[i]&0x7c00 == 0x7c00 {
			return fmt.Errorf("quant: weight [%d,%d] is %v, too large for a scale of %s", at/m.K, at%m.K, top, m.DType)
		}
		inv := 1 / d
		if math.IsInf(float64(inv), 0) {
			clear(m.Q[i*g : (i+1)*g]) // zeros, or so small that their scale is zero
			continue
		}
		for j, v := range group {
			m.Q[i*g+j] = int8(min(15, int32(float32(v*inv)+8.5)) - 8)
		}
	}
	return nil
}

func magnitude(v float32) uint32 { return math.Float32bits(v) &^ (1 << 31) }
