package native

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A Desc describes one graph as plain data: it can be printed, compared, checked,
// encoded and sent to another process without a library.
type Desc struct {
	Name    string
	Tensors []Tensor // those of kind AppWrite, in order, are the inputs; of AppRead, the outputs
	Nodes   []Node   // each after those whose outputs it takes
}

// A Tensor of a graph. A field's zero value is none.
type Tensor struct {
	Name  string // unique in the graph
	Kind  Kind
	Type  DType
	Dims  []int // outermost first, each at least 1; at least one
	Quant Quant
	Data  []byte // of a Static tensor: Bytes() of them, little-endian, dense; nil otherwise
}

// Kind says who writes and reads a tensor.
type Kind uint32

// The kinds that a Desc may hold, by QNN's numbers.
const (
	AppWrite Kind = 0 // an input, bound at each execution: activations, and weights that are not fixed
	AppRead  Kind = 1 // an output, bound at each execution
	Native   Kind = 3 // between nodes
	Static   Kind = 4 // a constant, part of the graph
)

// Quant says how stored integers stand for numbers: real = (q + offset) * scale.
// The zero value is for a tensor that is not quantized. Scale alone is per
// tensor; Scales are per element of Axis, with Offsets of the same length or
// none. Bits, if not 0, is how many of the bits of each integer count (4 for int4
// in bytes); BlockScales divides each element's row along the other axes into
// len(BlockScales)/len(Scales) blocks, with 4-bit factors of its scale.
type Quant struct {
	Scale       float32
	Offset      int32
	Axis        int
	Scales      []float32
	Offsets     []int32
	Bits        int
	BlockScales []byte
}

// A Node is one operator of the vendor's package qti.aisw.
type Node struct {
	Name    string // unique in the graph
	Op      string // such as MatMul
	Params  []Param
	In, Out []string // names of tensors
	Since   Version  // the oldest core API of whose libraries it is asked; zero: any that Open takes, and none needs a newer one yet
}

// A Param is a fixed parameter of a node: a scalar, or a tensor if Dims is not nil.
type Param struct {
	Name string
	Type DType
	Dims []int
	Data []byte // little-endian
}

// Bool returns a scalar parameter, as U32, I32 and F32 do.
func Bool(name string, v bool) Param {
	p := Param{Name: name, Type: Bool8, Data: []byte{0}}
	if v {
		p.Data[0] = 1
	}
	return p
}

// U32 returns a scalar parameter of type UInt32.
func U32(name string, v uint32) Param {
	return Param{Name: name, Type: UInt32, Data: binary.LittleEndian.AppendUint32(nil, v)}
}

// I32 returns a scalar parameter of type Int32.
func I32(name string, v int32) Param {
	return Param{Name: name, Type: Int32, Data: binary.LittleEndian.AppendUint32(nil, uint32(v))}
}

// F32 returns a scalar parameter of type Float32.
func F32(name string, v float32) Param {
	return Param{Name: name, Type: Float32, Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))}
}

// U32s returns a tensor parameter of one dimension, such as axes or perm.
func U32s(name string, v ...uint32) Param {
	p := Param{Name: name, Type: UInt32, Dims: []int{len(v)}}
	for _, n := range v {
		p.Data = binary.LittleEndian.AppendUint32(p.Data, n)
	}
	return p
}

// I32s returns a tensor parameter of the given dimensions, such as ranges [rank,3].
func I32s(name string, dims []int, v ...int32) Param {
	p := Param{Name: name, Type: Int32, Dims: dims}
	for _, n := range v {
		p.Data = binary.LittleEndian.AppendUint32(p.Data, uint32(n))
	}
	return p
}

// Inputs returns the tensors that a caller writes, in the order of a Call.
func (d *Desc) Inputs() []Tensor { return d.of(AppWrite) }

// Outputs returns the tensors that a caller reads, in the order of a Call.
func (d *Desc) Outputs() []Tensor { return d.of(AppRead) }

func (d *Desc) of(k Kind) []Tensor {
	var found []Tensor
	for _, t := range d.Tensors {
		if t.Kind == k {
			found = append(found, t)
		}
	}
	return found
}

// Bytes returns what the elements of t take, dense.
func (t *Tensor) Bytes() int { return elements(t.Dims) * t.Type.Size() }

func elements(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func (k Kind) String() string {
	switch k {
	case AppWrite:
		return "write"
	case AppRead:
		return "read"
	case Native:
		return "native"
	case Static:
		return "static"
	}
	return fmt.Sprintf("kind(%d)", uint32(k))
}
