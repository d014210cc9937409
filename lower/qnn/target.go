package qnn

import (
	"fmt"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/native"
)

// A target is a library of QNN's and how graphs are made for it.
type target struct {
	name    string
	kind    string       // of library, as package find names it
	float   native.DType // what graphs compute in
	numbers string       // the node that makes numbers of quantized integers
	unpack  func(l *lowering, packed string) (high, low string)
	whole   bool // w8 is multiplied in whole numbers
}

// On the CPU, Dequantize makes numbers of an input at the first run alone.
var (
	cpu = &target{name: "qnn-cpu", kind: "cpu", float: native.Float32, numbers: "Convert", unpack: unpackRounding}
	htp = &target{name: "qnn-htp", kind: "htp", float: native.Float16, numbers: "Dequantize", unpack: unpackConverting}
)

// half reports whether graphs compute in half precision, as HTP does it.
func (t *target) half() bool { return t.float == native.Float16 }

// floats returns t.float as the IR's type.
func (t *target) floats() ir.DType {
	if t.half() {
		return ir.F16
	}
	return ir.F32
}

// supports returns nil, or which operator and operands cannot run, why, and what
// to do about it.
func supports(v *ir.Value) error {
	reason := refuse(v)
	if reason == "" {
		return nil
	}
	var types []string
	for _, a := range v.Args {
		types = append(types, a.Type.String())
	}
	return fmt.Errorf("%s : %s of %s: %s: %w", v.Op, v.Type, strings.Join(types, ", "), reason, lower.ErrUnsupported)
}

// maxRank is the most extents that tensors between nodes may have.
const maxRank = 5

func refuse(v *ir.Value) string {
	r, ok := rows[v.Op]
	if !ok {
		return "there is no row for this operator: its graph stays on the host"
	}
	for i, a := range v.Args {
		switch d := a.Type.DType; {
		case d.Activation():
			return "activations are numbers here: legalize for this backend, not for the host"
		case d.Encoded() && (v.Op != ir.MatMul || i != 1):
			return "an encoded weight is read by matmul alone: keep this one as numbers"
		case d == ir.State || d == ir.I32 && v.Op != ir.RoPE:
			return "states and whole numbers stay on the host, as static forms have it"
		case a.Type.Rank() > maxRank || v.Type.Rank() > maxRank:
			return "tensors have at most 5 extents: reshape it in the family"
		}
	}
	if r.refuse != nil {
		return r.refuse(v)
	}
	return ""
}
