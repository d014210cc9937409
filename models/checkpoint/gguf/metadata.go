package gguf

import (
	"encoding/binary"
	"math"

	"estream/models/checkpoint"
)

// metadata are the keys of a file and their values: bool, string, int64, uint64, float32, float64, []string or numbers.
type metadata map[string]any

// numbers is an array of anything but strings, as it is stored.
type numbers struct {
	kind uint32
	data []byte
}

// The kinds of metadata values.
const (
	kindFloat  = 6
	kindBool   = 7
	kindString = 8
	kindArray  = 9
	kindDouble = 12
)

// sizes are the bytes of a value of each kind, 0 for those without a fixed size.
var sizes = [13]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

func (n numbers) len() int { return len(n.data) / sizes[n.kind] }

func (n numbers) at(i int) any { return scalar(n.kind, n.data[i*sizes[n.kind]:]) }

// scalar decodes a value of a kind with a fixed size.
func scalar(kind uint32, b []byte) any {
	switch kind {
	case 0:
		return uint64(b[0])
	case 1:
		return int64(int8(b[0]))
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 3:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 5:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case kindFloat:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case kindBool:
		return b[0] != 0
	case 10:
		return binary.LittleEndian.Uint64(b)
	case 11:
		return int64(binary.LittleEndian.Uint64(b))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// metadata reads pairs of keys and values into m.
func (c *cursor) metadata(m metadata, pairs uint64) error {
	for range pairs { // as many as the file has room for, else reading one fails
		key, err := c.string(maxKey)
		if err != nil {
			return err
		}
		if _, twice := m[key]; twice || key == "" {
			return c.fail(checkpoint.RuleKey, "%.80q", key)
		}
		kind, err := c.u32()
		if err != nil {
			return err
		}
		if m[key], err = c.value(key, kind); err != nil {
			return err
		}
		if want, is := wanted(key), describe(m[key]); want != "" && is != want {
			return c.fail(RuleValue, "%.80q is %s, want %s", key, is, want)
		}
	}
	return nil
}

func (c *cursor) value(key string, kind uint32) (any, error) {
	switch {
	case kind == kindString:
		return c.string(maxHeader)
	case kind == kindArray:
		return c.array(key)
	case kind >= uint32(len(sizes)):
		return nil, c.fail(RuleValue, "%.80q is of kind %d, which is unknown", key, kind)
	}
	b, err := c.take(uint64(sizes[kind]))
	if err != nil {
		return nil, err
	}
	if kind == kindBool && b[0] > 1 {
		return nil, c.fail(RuleValue, "%.80q is a flag of %d, want 0 or 1", key, b[0])
	}
	return scalar(kind, b), nil
}

func (c *cursor) array(key string) (any, error) {
	kind, err := c.u32()
	if err != nil {
		return nil, err
	}
	n, err := c.u64()
	if err != nil {
		return nil, err
	}
	if kind == kindString {
		return c.strings(n)
	}
	if kind >= uint32(len(sizes)) || kind == kindArray {
		return nil, c.fail(RuleValue, "%.80q is an array of kind %d: want numbers, flags or texts", key, kind)
	}
	size := uint64(sizes[kind])
	if n > math.MaxUint64/size {
		return nil, c.fail(checkpoint.RuleNumber, "%.80q is an array of %d", key, n)
	}
	data, err := c.take(n * size)
	if err != nil {
		return nil, err
	}
	if n*size <= uint64(len(c.small)) { // take's own room
		data = append([]byte{}, data...)
	}
	return numbers{kind, data}, nil
}

// strings reads n texts, each of which has a length of 8 bytes.
func (c *cursor) strings(n uint64) ([]string, error) {
	if n > math.MaxUint64/8 {
		n = math.MaxUint64 / 8
	}
	if err := c.need(8 * n); err != nil {
		return nil, err
	}
	list := make([]string, n)
	for i := range list {
		var err error
		if list[i], err = c.string(maxHeader); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// whole returns a whole number from 0 on.
func (m metadata) whole(key string) (int64, bool) {
	return whole(m[key])
}

func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case uint64:
		return int64(v), v <= math.MaxInt64
	case int64:
		return v, v >= 0
	}
	return 0, false
}

// text returns a text, or "".
func (m metadata) text(key string) string {
	s, _ := m[key].(string)
	return s
}

// flag returns a flag, or def.
func (m metadata) flag(key string, def bool) bool {
	if b, ok := m[key].(bool); ok {
		return b
	}
	return def
}

// texts returns an array of texts, or nil.
func (m metadata) texts(key string) []string {
	list, _ := m[key].([]string)
	return list
}
