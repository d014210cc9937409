package qnn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
)

// TestRefusals says of what lacks a row, or has a type of the host's, which
// operator and operands it is, why, and what helps.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"  %1:x = input : f32[T,4]\n  %2 = topk %1 k=1 : i32[T,1]\n", "topk : i32[T,1] of f32[T,4]: there is no row for this operator: its graph stays on the host"},
		{"  %1:x = input : a8[T,32]\n  %2:w = weight offset=0 : w8[4,32]\n  %3 = matmul %1 %2 : f32[T,4]\n", "matmul : f32[T,4] of a8[T,32], w8[4,32]: activations are numbers here: legalize for this backend, not for the host"},
		{"  %1:x = input : f32[T,32]\n  %2:w = weight offset=0 : w4full32[4,32]\n  %3 = matmul %1 %2 : f32[T,4]\n", "matmul : f32[T,4] of f32[T,32], w4full32[4,32]: packing qnn has no form of w4full32[4,32], whose codes reach -8: pack with --encoding w4"},
		{"  %1:x = input : f32[T,4]\n  %2:ids = input : i32[T]\n  %3 = gather_rows %1 %2 : f32[T,4]\n", "gather_rows : f32[T,4] of f32[T,4], i32[T]: there is no row for this operator: its graph stays on the host"},
		{"  %1:x = input : f32[T,2,2,2,2,2]\n  %2 = silu %1 : f32[T,2,2,2,2,2]\n", "silu : f32[T,2,2,2,2,2] of f32[T,2,2,2,2,2]: tensors have at most 5 extents: reshape it in the family"},
		{"  %1:x = input : f32[T,1,4]\n  %2:s = input : f32[T,3]\n  %3 = topk %2 k=1 : i32[T,1]\n  %4:ids = input : i32[T]\n  %5 = rope %1 %4 theta=10000 interleaved=false : f32[T,1,4]\n", ""},
	} {
		g := parse(t, fmt.Sprintf("graph g\n%s  return %%1\n", c.values))
		v := g.Values[len(g.Values)-1]
		err := supports(v)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want+": unsupported")
		require.ErrorIs(t, err, lower.ErrUnsupported)
	}
}

// TestEveryOperator says which operators of the IR have a row, and so which have not.
func TestEveryOperator(t *testing.T) {
	without := map[*ir.Op]string{
		ir.Input: "bound by the call", ir.Weight: "bound by the call",
		ir.Embed: "host", ir.TopK: "route", ir.OneHot: "route", ir.Gather: "route",
		ir.Append: "state", ir.Attention: "static forms have attention_masked", ir.Conv: "static forms have conv_past", ir.Shift: "state",
		ir.Experts: "run as its callee", ir.Quantize: "host", ir.GatherRows: "host", ir.ScatterAdd: "host",
	}
	for _, op := range ir.CoreOps() {
		_, has := rows[op]
		require.Equal(t, without[op] == "", has, "%s", op)
	}
}
