package lower

import (
	"fmt"
	"math"
)

// CheckFactor reports a factor of an encoded weight that is no positive power of two.
func CheckFactor(f float32) error {
	if frac, _ := math.Frexp(float64(f)); frac != 0.5 {
		return fmt.Errorf("factor is %v, want a power of two", f)
	}
	return nil
}

// Check reports a buffer of less than want bytes, or one that is not all in its
// Mem, that numbers cannot be read from, or that has a wrong factor.
func (b Buffer) Check(want int64) error {
	if b.Len < want {
		return fmt.Errorf("buffer has %d bytes, %s takes %d", b.Len, b.Type, want)
	}
	if b.Type.DType.Encoded() {
		if err := CheckFactor(b.Factor); err != nil {
			return err
		}
	}
	if b.Len == 0 {
		return nil
	}
	if b.Mem == nil {
		return fmt.Errorf("buffer of %d bytes has no memory", b.Len)
	}
	if have := int64(len(b.Mem.Bytes())); b.Off < 0 || b.Off > have || b.Len > have-b.Off {
		return fmt.Errorf("buffer of %d bytes at %d is not within its %d bytes of memory", b.Len, b.Off, have)
	}
	if b.Off%4 != 0 {
		return fmt.Errorf("buffer starts at %d, which is no multiple of 4", b.Off)
	}
	return nil
}

// SameMemory reports whether two buffers start at the same byte.
func SameMemory(a, b Buffer) bool {
	x, y := a.Bytes(), b.Bytes()
	return len(x) == 0 && len(y) == 0 || len(x) > 0 && len(y) > 0 && &x[0] == &y[0]
}
