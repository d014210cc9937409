package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"estream/ir"
)

// A node is what becomes a NodeProto.
type node struct {
	domain, op, name string
	in, out          []string
	attributes       []message // AttributeProtos
	properties       []message // StringStringEntryProtos
}

func (n node) message() message {
	m := message{}.strings(1, n.in).strings(2, n.out).string(3, n.name).string(4, n.op)
	for _, a := range n.attributes {
		m = m.sub(5, a)
	}
	if n.domain != "" {
		m = m.string(7, n.domain)
	}
	for _, p := range n.properties {
		m = m.sub(9, p)
	}
	return m
}

// A nodeBuilder collects the nodes of one graph.
type nodeBuilder struct {
	names           map[*ir.Value]string
	inputs, outputs []string
	nodes           []node
}

// value adds the node of v: ONNX's own where it has the same operator, else one of
// the domain "estream".
func (b *nodeBuilder) value(x onnx, v *ir.Value) {
	n := node{name: b.names[v], out: []string{b.names[v]}}
	for _, a := range v.Args {
		n.in = append(n.in, b.names[a])
	}
	if same := standard(v.Op); same == nil || !same(b, &n, v) {
		n.domain, n.op = opDomain, v.Op.Name
		for _, f := range v.Fields() {
			n.attributes = append(n.attributes, attr(f).onnx())
		}
		if v.Op == ir.Experts {
			n.attributes = append(n.attributes, message{}.string(1, "body").sub(6, x.body(v)).int(20, graphAttr))
		}
	}
	n.properties = properties(v)
	b.nodes = append(b.nodes, n)
}

// properties are what IR text says of a value and ONNX has no place for.
func properties(v *ir.Value) []message {
	out := []message{pair("id", v.String()), pair("type", v.Type.String())}
	if v.Origin != "" {
		out = append(out, pair("origin", v.Origin))
	}
	if v.Slot != 0 {
		out = append(out, pair("slot", strconv.Itoa(v.Slot)))
	}
	return out
}

// constant adds a Constant for v and returns its name: int64 of one axis, or one
// f32 without extents.
func (b *nodeBuilder) constant(v *ir.Value, what string, tensor message) string {
	name := part(b.names[v], what)
	value := message{}.string(1, "value").sub(5, tensor).int(20, tensorAttr)
	b.nodes = append(b.nodes, node{op: "Constant", name: name, out: []string{name}, attributes: []message{value}})
	return name
}

// part names what goes with a value. No name of a value or graph has a colon, nor the
// slash between the two.
func part(name, what string) string { return name + ":" + what }

// Numbers of AttributeProto.AttributeType.
const (
	floatAttr  = 1
	intAttr    = 2
	stringAttr = 3
	tensorAttr = 4
	graphAttr  = 5
)

// An attr is an attribute of a node: a field of a value's, or one that ONNX has.
type attr ir.Field

// onnx is the AttributeProto: floats are rounded to f32.
func (a attr) onnx() message {
	m := message{}.string(1, a.Name)
	switch x := a.Value.(type) {
	case int:
		return m.int(3, int64(x)).int(20, intAttr)
	case bool:
		return m.int(3, map[bool]int64{true: 1}[x]).int(20, intAttr)
	case float64:
		return m.float(2, x).int(20, floatAttr)
	}
	return m.string(4, ir.Field(a).Text()).int(20, stringAttr)
}

// ints is a TensorProto of whole numbers.
func ints(ns ...int64) message {
	var raw []byte
	for _, n := range ns {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	return message{}.int(1, int64(len(ns))).int(2, 7).raw(9, raw)
}

// scalar is a TensorProto of one f32, without extents.
func scalar(x float64) message {
	raw := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))
	return message{}.int(2, 1).raw(9, raw)
}

func pair(key, value string) message { return message{}.string(1, key).string(2, value) }

func opsetID(domain string, version int64) message {
	return message{}.string(1, domain).int(2, version)
}

// valueInfo says what type a name has.
func valueInfo(name string, t ir.Type) message { return message{}.string(1, name).sub(2, typeProto(t)) }

// describe says what type a value has, and of a weight what it is.
func describe(name string, v *ir.Value) message {
	m := valueInfo(name, v.Type)
	if v.Op == ir.Weight {
		m = m.string(3, fmt.Sprintf("weight %s at byte %d of its record", v.Type, v.Attr.(ir.WeightAttr).Offset))
	}
	if isGiven(v) {
		for _, p := range properties(v) {
			m = m.sub(4, p)
		}
	}
	return m
}

// typeProto is a type: a state is opaque, and of encodings there is but the kind of
// the codes.
func typeProto(t ir.Type) message {
	if t.DType == ir.State {
		return message{}.sub(7, message{}.string(1, opDomain).string(2, t.String()))
	}
	shape := message{}
	for _, d := range t.Dims {
		dim := message{}.int(1, int64(d.N))
		if d.Sym != "" {
			dim = message{}.string(2, d.String())
		}
		shape = shape.sub(1, dim)
	}
	return message{}.sub(1, message{}.int(1, elemType(t.DType)).sub(2, shape))
}

// elemType is the number of TensorProto.DataType.
func elemType(d ir.DType) int64 {
	switch d {
	case ir.F32:
		return 1
	case ir.F16:
		return 10
	case ir.BF16:
		return 16
	case ir.I32:
		return 6
	}
	if d.Bits() == 4 {
		return 22
	}
	return 3 // int8
}
