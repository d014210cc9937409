package models

import (
	"context"
	"fmt"

	"estream/ir"
	"estream/models/checkpoint"
)

// Encoding returns the encoding whose codes the checkpoint holds of a weight, so
// that ReadCodes gives them; ir.Invalid where it holds values, or codes of another
// kind. Layers and experts may differ.
func (m *Model) Encoding(weight string, layer, expert int) ir.DType {
	c, ok := m.ckpt.(checkpoint.Coder)
	s, t, found := m.source(weight, layer, expert)
	if !ok || !found || s.Transpose || len(m.shapes[weight]) != 2 {
		return ir.Invalid
	}
	return c.Encoding(t.Name)
}

// ReadCodes is Read for a weight [N,K] of an Encoding d: codes has the elements of
// the rows, scales the f16 bits of their groups of d.Group(K).
func (m *Model) ReadCodes(ctx context.Context, weight string, layer, expert int, row, rows int, codes []int8, scales []uint16) error {
	d := m.Encoding(weight, layer, expert)
	if d == ir.Invalid || len(codes) == 0 || len(scales)*d.Group(m.shapes[weight][1]) != len(codes) {
		return fmt.Errorf("models: weight %s, layer %d, expert %d: %d codes and %d scales where it has %s", weight, layer, expert, len(codes), len(scales), d)
	}
	if err := m.read(ctx, weight, layer, expert, row, rows, block{codes: codes, scales: scales}); err != nil {
		return fmt.Errorf("models: weight %s, layer %d, expert %d: %w", weight, layer, expert, err)
	}
	return nil
}
