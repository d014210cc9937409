package checkpoint_test

import (
	"slices"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// A caller finds what it may not emit unscaled from the headers alone.
func TestCensus(t *testing.T) {
	ck, _ := openFile(t, tensors{
		"a.weight":       checkpointtest.BF16([]int{2, 2}, 1, 2, 3, 4),
		"b.weight":       checkpointtest.BF16([]int{3}, 1, 2, 3),
		"b.input_scale":  checkpointtest.F32(nil, 1),
		"c.weight":       random("F8_E5M2", 4, 4),
		"d.weight":       random("F4", 4, 4),
		"e.weight":       random("I8", 4),
		"f.empty_weight": checkpointtest.F32([]int{0}),
	})
	want := []checkpoint.Count{{"BF16", 2, 14}, {"F32", 2, 4}, {"F4", 1, 8}, {"F8_E5M2", 1, 16}, {"I8", 1, 4}}
	if got := checkpoint.Census(ck); !slices.Equal(got, want) {
		t.Errorf("census: got %v, want %v", got, want)
	}
	var refused []string
	for _, tensor := range ck.Tensors() {
		if !tensor.DType.Exact() {
			refused = append(refused, tensor.Name)
		}
	}
	if want := []string{"c.weight", "d.weight", "e.weight"}; !slices.Equal(refused, want) {
		t.Errorf("tensors that need scales: got %v, want %v", refused, want)
	}
}
