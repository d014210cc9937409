package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// Supports implements lower.Backend.
func (b *backend) Supports(v *ir.Value) error {
	reason := b.refuse(v)
	if reason == "" {
		return nil
	}
	s := fmt.Sprintf("host: %s : %s", v.Op, v.Type)
	if len(v.Args) > 0 {
		types := make([]string, len(v.Args))
		for i, a := range v.Args {
			types[i] = a.Type.String()
		}
		s += " of " + strings.Join(types, ", ")
	}
	return fmt.Errorf("%s: %s: %w", s, reason, lower.ErrUnsupported)
}

// Ops lists the operators that the host runs, of some types at least, by name.
func (b *backend) Ops() []*ir.Op {
	ops := []*ir.Op{ir.Input, ir.Weight, ir.Experts}
	ops = slices.AppendSeq(ops, maps.Keys(b.core))
	ops = slices.AppendSeq(ops, maps.Keys(b.ops))
	slices.SortFunc(ops, func(a, b *ir.Op) int { return strings.Compare(a.Name, b.Name) })
	return ops
}

// refuse returns why v cannot run here, or nothing.
func (b *backend) refuse(v *ir.Value) string {
	switch v.Op {
	case ir.Input:
		if v.Type.DType.Encoded() {
			return "an encoded matrix must be a weight"
		}
		return ""
	case ir.Weight:
		if v.Type.DType.Activation() || v.Type.DType == ir.State {
			return "weights are plain numbers or encodings"
		}
		return ""
	case ir.Experts:
		if v.Body != nil {
			return "the body must be extracted first"
		}
		return ""
	}
	if _, ok := b.ops[v.Op]; ok {
		return ""
	}
	op, ok := b.core[v.Op]
	if !ok {
		return "there is no function for this operator: Options.Ops adds one"
	}
	if op.refuse != nil {
		return op.refuse(v)
	}
	return ""
}

func refuseEmbed(v *ir.Value) string {
	if d := v.Args[0].Type.DType; !d.Float() && d != ir.W8 {
		return "tables are plain numbers or w8"
	}
	return ""
}

func refuseMatMul(v *ir.Value) string {
	w := v.Args[1]
	if w.Type.DType.Encoded() && w.Op != ir.Weight {
		return "an encoded matrix must be a weight"
	}
	row := ir.Tensor(w.Type.DType, ir.N(1), w.Type.Last())
	if row.Dims[1].Sym != "" {
		row.Dims[1] = ir.N(1) // known when it runs
	}
	if _, err := kernel.Packing.Size(row); err != nil {
		return err.Error()
	}
	return ""
}

func refuseAttention(v *ir.Value) string {
	parts := v.Args[1].Type.Parts
	for _, t := range []ir.Type{v.Args[0].Type, parts[0], parts[1]} {
		if slices.ContainsFunc(t.Dims[1:], func(d ir.Dim) bool { return d.Sym != "" }) {
			return "heads and their values must be numbers"
		}
	}
	if d := parts[0].DType; d != ir.F32 && d != ir.BF16 || parts[1].DType != d {
		return "keys and values are both f32 or both bf16"
	}
	return ""
}
