package qnn

import "estream/lower/qnn/native"

// The core APIs that brought something which rows need.
var (
	qairt20 = native.Version{Major: 2}            // of QAIRT 2.0, with the first set of operators that has a version of its own
	qairt21 = native.Version{Major: 2, Minor: 15} // of QAIRT 2.21
	qairt25 = native.Version{Major: 2, Minor: 18} // of QAIRT 2.25
	qairt39 = native.Version{Major: 2, Minor: 29} // of QAIRT 2.39
)

// since is QNN's operators of which rows make nodes, and the oldest core API for which
// the vendor's revision histories have them: those of operator definitions, of types
// that HTP's support gained later, and of the API. Nothing before 2.36 has been run.
var since = map[string]native.Version{
	"Cast":                  qairt20,
	"Concat":                qairt20,
	"Convert":               qairt20,
	"Dequantize":            qairt21, // to half precision
	"ElementWiseAbs":        qairt20,
	"ElementWiseAdd":        qairt20,
	"ElementWiseDivide":     qairt20,
	"ElementWiseMaximum":    qairt20,
	"ElementWiseMultiply":   qairt20,
	"ElementWiseRound":      qairt20,
	"ElementWiseSquareRoot": qairt20,
	"ElementWiseSubtract":   qairt20,
	"MatMul":                qairt20,
	"Quantize":              qairt39, // half precision
	"ReduceMax":             qairt20,
	"ReduceSum":             qairt20,
	"ReluMinMax":            qairt20,
	"Reshape":               qairt20,
	"RmsNorm":               qairt25,
	"Sigmoid":               qairt20,
	"Softmax":               qairt20,
	"Split":                 qairt20,
	"StridedSlice":          qairt20,
	"Tanh":                  qairt20,
	"Transpose":             qairt20,
}
