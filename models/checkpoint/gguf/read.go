package gguf

import (
	"context"
	"fmt"

	"estream/ir"
	"estream/models/checkpoint"
)

// readAt decodes elements from first on.
func (m *model) readAt(ctx context.Context, p place, first int64, dst []float32) error {
	err := fmt.Errorf("%s is not read", p.DType)
	if p.kind.decode != nil {
		err = m.blocks(ctx, p, first, len(dst), func(at, n int, raw []byte) error {
			p.kind.decode(dst[at:at+n], raw)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("%s: tensor %.80q: %w", p.file.path, p.Name, err)
	}
	return nil
}

// blocks reads n elements from first on: whole blocks, as many at a time as fit a buffer. It tells do where they stand
// among the n, and how many there are.
func (m *model) blocks(ctx context.Context, p place, first int64, n int, do func(at, n int, raw []byte) error) error {
	per, size := p.kind.block, p.kind.bytes
	if first%int64(per) != 0 || n%per != 0 {
		return fmt.Errorf("elements [%d,%d+%d) are not whole blocks of %d", first, first, n, per)
	}
	buf := m.buffers.Get().(*checkpoint.Buffer)
	defer m.buffers.Put(buf)
	begin, most := p.begin+first/int64(per)*int64(size), checkpoint.MostRange/size*per
	for at := 0; at < n; {
		step := min(n-at, most)
		raw, err := p.file.f.Range(ctx, buf, begin+int64(at/per)*int64(size), step/per*size)
		if err != nil {
			return err
		}
		if err := do(at, step, raw); err != nil {
			return err
		}
		at += step
	}
	return nil
}

// Encoding implements checkpoint.Coder: Q4_0 is an encoding of estream's own.
func (m *model) Encoding(name string) ir.DType {
	if p, ok := m.at[name]; ok && p.DType == "Q4_0" && len(p.Shape) > 1 {
		return ir.W4Full32
	}
	return ir.Invalid
}

// ReadCodes implements checkpoint.Coder.
func (m *model) ReadCodes(ctx context.Context, name string, row, rows int, codes []int8, scales []uint16) error {
	if m.Encoding(name) == ir.Invalid {
		return fmt.Errorf("checkpoint %s: no codes of a tensor %.80q", m.files[0].path, name)
	}
	p := m.at[name]
	first, err := checkpoint.Span(p.Shape, row, rows, len(codes))
	if err == nil && len(scales)*p.kind.block != len(codes) {
		err = fmt.Errorf("%d scales for %d codes", len(scales), len(codes))
	}
	if err == nil {
		err = m.blocks(ctx, p, first, len(codes), func(at, n int, raw []byte) error {
			return codesQ4_0(codes[at:at+n], scales[at/p.kind.block:], raw)
		})
	}
	if err != nil {
		return fmt.Errorf("%s: tensor %.80q: %w", p.file.path, name, err)
	}
	return nil
}
