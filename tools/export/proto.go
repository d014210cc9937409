package export

import (
	"encoding/binary"
	"math"
	"strings"
)

// A message is fields of a protocol buffer, as they stand in a file.
// (https://protobuf.dev/programming-guides/encoding/)
type message []byte

// Kinds of fields.
const (
	varint  = 0
	length  = 2
	fixed32 = 5
)

func (m message) tag(field, kind int) message {
	return binary.AppendUvarint(m, uint64(field)<<3|uint64(kind))
}

// int adds a whole number.
func (m message) int(field int, n int64) message {
	return binary.AppendUvarint(m.tag(field, varint), uint64(n))
}

// float adds a number of 32 bits.
func (m message) float(field int, x float64) message {
	return binary.LittleEndian.AppendUint32(m.tag(field, fixed32), math.Float32bits(float32(x)))
}

// raw adds bytes.
func (m message) raw(field int, data []byte) message {
	m = binary.AppendUvarint(m.tag(field, length), uint64(len(data)))
	return append(m, data...)
}

// string adds a text; an empty one too. What is no UTF-8 is replaced, for readers
// refuse it.
func (m message) string(field int, s string) message {
	return m.raw(field, []byte(strings.ToValidUTF8(s, "\uFFFD")))
}

// strings adds each of several texts.
func (m message) strings(field int, texts []string) message {
	for _, s := range texts {
		m = m.string(field, s)
	}
	return m
}

// sub adds a message.
func (m message) sub(field int, sub message) message { return m.raw(field, sub) }
