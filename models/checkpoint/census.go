package checkpoint

import (
	"cmp"
	"maps"
	"slices"
)

// A Count is how many tensors have a type, and how many bytes they take.
type Count struct {
	DType   DType
	Tensors int
	Bytes   int64
}

// Census counts the tensors of c by type, in the order of the types' names. It reads no weights, so that what a
// conversion cannot take is known before it writes anything; see Tensor.Opaque.
func Census(c Checkpoint) []Count {
	counts := map[DType]Count{}
	for _, t := range c.Tensors() {
		n := counts[t.DType]
		counts[t.DType] = Count{DType: t.DType, Tensors: n.Tensors + 1, Bytes: n.Bytes + t.Bytes}
	}
	return slices.SortedFunc(maps.Values(counts), func(a, b Count) int { return cmp.Compare(a.DType, b.DType) })
}
