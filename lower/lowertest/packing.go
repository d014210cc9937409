package lowertest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"estream/ir"
	"estream/lower"
)

// testPackings packs and unpacks every encoding that each of b's packings has.
func testPackings(t *testing.T, b lower.Backend) {
	for _, p := range b.Packings() {
		for _, d := range encodings {
			for _, s := range [][2]int{{1, 128}, {5, 256}, {33, 384}, {64, 128}, {3, 7}, {40, 33}} {
				if g := d.Group(1); g > 1 && s[1]%g != 0 {
					continue
				}
				if err := checkPacking(p, ir.Tensor(d, n(s[0]), n(s[1]))); err != nil {
					t.Errorf("packing %s of %s%v: %v", p.Name, d, s, err)
				}
			}
		}
	}
}

func checkPacking(p lower.Packing, t ir.Type) error {
	size, err := p.Size(t)
	if errors.Is(err, lower.ErrUnsupported) {
		return nil
	}
	if err != nil || size < 1 || size%lower.Align != 0 {
		return fmt.Errorf("size %d, error %v, want a multiple of %d", size, err, lower.Align)
	}
	all := aligned(size+2*lower.Align, lower.Align)
	poison(all)
	dst := all[lower.Align:][:size:size]
	m := *matrixOf(newSource(t.String()).tensor(t))
	if err := p.Pack(dst, &m); err != nil {
		return err
	}
	if i := slices.IndexFunc(append(slices.Clone(all[:lower.Align]), all[lower.Align+size:]...), func(b byte) bool { return b != canary }); i >= 0 {
		return fmt.Errorf("pack wrote outside of dst")
	}
	got, err := p.Unpack(dst, t)
	if err != nil {
		return err
	}
	m.Factor = 1
	if got.DType != m.DType || got.N != m.N || got.K != m.K || got.Factor != 1 {
		return fmt.Errorf("unpacked %s[%d,%d] with factor %v", got.DType, got.N, got.K, got.Factor)
	}
	exact := Tolerance{0, "packings never round"}
	if err := worst("unpacked", t, got.Values(), m.Values(), exact); err != nil {
		return err
	}
	for _, bad := range []func() error{
		func() error { return p.Pack(dst[:size-lower.Align], &m) },
		func() error { _, err := p.Unpack(dst[:size-lower.Align], t); return err },
	} {
		if err := caught(bad); err == nil || errors.Is(err, errPanic) {
			return fmt.Errorf("with %d bytes too few: got %v, want an error", lower.Align, err)
		}
	}
	return nil
}
