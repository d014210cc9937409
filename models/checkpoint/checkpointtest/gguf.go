package checkpointtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
)

// A GGUF is a GGUF file to write.
type GGUF struct {
	Pairs   []Pair
	Tensors []Stored
	Version uint32 // 0: 3
	Align   int    // 0: 32, which is not written
}

// A Pair is a key of metadata, a string, and its value: uint16, uint32, uint64, int32, float32, float64, bool, string, or
// an array of int32, float32, float64, bool or string.
type Pair [2]any

// A Stored is a tensor of a GGUF file: its type by ggml's number, its shape with the outermost extent first, its data.
type Stored struct {
	Name  string
	Type  uint32
	Shape []int
	Data  []byte
}

// StoredF32 makes a tensor of float32.
func StoredF32(name string, shape []int, values ...float32) Stored {
	return Stored{name, 0, shape, F32(shape, values...).Data}
}

// Write writes the file.
func (g GGUF) Write(path string) error { return os.WriteFile(path, g.Bytes(), 0o644) }

// Bytes returns the file's bytes.
func (g GGUF) Bytes() []byte {
	version, align := g.Version, g.Align
	if version == 0 {
		version = 3
	}
	if align == 0 {
		align = 32
	} else {
		g.Pairs = append(g.Pairs[:len(g.Pairs):len(g.Pairs)], Pair{"general.alignment", uint32(align)})
	}
	le := binary.LittleEndian
	b := le.AppendUint32([]byte("GGUF"), version)
	b = le.AppendUint64(le.AppendUint64(b, uint64(len(g.Tensors))), uint64(len(g.Pairs)))
	for _, p := range g.Pairs {
		b = appendValue(appendText(b, p[0].(string)), p[1], true)
	}
	var data []byte
	for _, t := range g.Tensors {
		b = le.AppendUint32(appendText(b, t.Name), uint32(len(t.Shape)))
		for i := range t.Shape {
			b = le.AppendUint64(b, uint64(t.Shape[len(t.Shape)-1-i]))
		}
		b = le.AppendUint64(le.AppendUint32(b, t.Type), uint64(len(data)))
		data = padded(append(data, t.Data...), align)
	}
	return append(padded(b, align), data...)
}

func padded(b []byte, align int) []byte {
	return append(b, make([]byte, (align-len(b)%align)%align)...)
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// appendValue appends a value, after its kind where that is not known.
func appendValue(b []byte, v any, kind bool) []byte {
	le := binary.LittleEndian
	tag := func(n uint32) {
		if kind {
			b = le.AppendUint32(b, n)
		}
	}
	switch v := v.(type) {
	case uint16:
		tag(2)
		return le.AppendUint16(b, v)
	case uint32:
		tag(4)
		return le.AppendUint32(b, v)
	case int32:
		tag(5)
		return le.AppendUint32(b, uint32(v))
	case float32:
		tag(6)
		return le.AppendUint32(b, math.Float32bits(v))
	case bool:
		tag(7)
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case string:
		tag(8)
		return appendText(b, v)
	case uint64:
		tag(10)
		return le.AppendUint64(b, v)
	case float64:
		tag(12)
		return le.AppendUint64(b, math.Float64bits(v))
	case []string:
		return appendArray(b, 8, v)
	case []int32:
		return appendArray(b, 5, v)
	case []float32:
		return appendArray(b, 6, v)
	case []bool:
		return appendArray(b, 7, v)
	case []float64:
		return appendArray(b, 12, v)
	}
	panic(fmt.Sprintf("no kind for a value of %T", v))
}

func appendArray[E any](b []byte, kind uint32, list []E) []byte {
	b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 9), kind)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	for _, v := range list {
		b = appendValue(b, v, false)
	}
	return b
}
