package gguf

import (
	"slices"

	"estream/models/checkpoint"
)

// A kind is one of ggml's types: values stand in blocks, each of which has its own scales.
type kind struct {
	name   checkpoint.DType
	block  int // elements
	bytes  int // of a block
	decode func(dst []float32, src []byte)
}

// usual words what to use instead of a type that is not read.
const usual = "F16, BF16, Q8_0 or Q4_K_M"

// kinds are the types by ggml's numbers. Those without decode are known by their size only.
var kinds = map[uint32]kind{
	0:  {"F32", 1, 4, decodeF32},
	1:  {"F16", 1, 2, decodeF16},
	30: {"BF16", 1, 2, decodeBF16},

	2:  {"Q4_0", 32, 18, decodeQ4_0},
	3:  {"Q4_1", 32, 20, decodeQ4_1},
	6:  {"Q5_0", 32, 22, decodeQ5_0},
	7:  {"Q5_1", 32, 24, decodeQ5_1},
	8:  {"Q8_0", 32, 34, decodeQ8_0},
	20: {"IQ4_NL", 32, 18, decodeIQ4_NL},
	39: {"MXFP4", 32, 17, decodeMXFP4},

	10: {"Q2_K", 256, 84, decodeQ2_K},
	11: {"Q3_K", 256, 110, decodeQ3_K},
	12: {"Q4_K", 256, 144, decodeQ4_K},
	13: {"Q5_K", 256, 176, decodeQ5_K},
	14: {"Q6_K", 256, 210, decodeQ6_K},
	23: {"IQ4_XS", 256, 136, decodeIQ4_XS},

	9:  {"Q8_1", 32, 36, nil},
	15: {"Q8_K", 256, 292, nil},
	16: {"IQ2_XXS", 256, 66, nil},
	17: {"IQ2_XS", 256, 74, nil},
	18: {"IQ3_XXS", 256, 98, nil},
	19: {"IQ1_S", 256, 50, nil},
	21: {"IQ3_S", 256, 110, nil},
	22: {"IQ2_S", 256, 82, nil},
	29: {"IQ1_M", 256, 56, nil},
	34: {"TQ1_0", 256, 54, nil},
	35: {"TQ2_0", 256, 66, nil},
	40: {"NVFP4", 64, 36, nil},
	41: {"Q1_0", 128, 18, nil},
	24: {"I8", 1, 1, nil},
	25: {"I16", 1, 2, nil},
	26: {"I32", 1, 4, nil},
	27: {"I64", 1, 8, nil},
	28: {"F64", 1, 8, nil},
}

func kindOf(id uint32) (kind, bool) {
	k, ok := kinds[id]
	return k, ok
}

// decoded lists the types that are read.
func decoded() []checkpoint.DType {
	var names []checkpoint.DType
	for _, k := range kinds {
		if k.decode != nil {
			names = append(names, k.name)
		}
	}
	slices.Sort(names)
	return names
}
