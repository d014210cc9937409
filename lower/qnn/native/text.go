package native

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"

	"github.com/x448/float16"
)

// String returns d as text, a line for each tensor and node. Long data are given
// as a checksum.
func (d *Desc) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "graph %s\n", d.Name)
	for i := range d.Tensors {
		t := &d.Tensors[i]
		fmt.Fprintf(&s, "  %s %s %s%s%s", t.Kind, t.Name, t.Type, extents(t.Dims), &t.Quant)
		if t.Kind == Static {
			fmt.Fprintf(&s, " = %s", values(t.Type, t.Data))
		}
		s.WriteByte('\n')
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		fmt.Fprintf(&s, "  %s %s(%s)", strings.Join(n.Out, ", ")+" =", n.Op, strings.Join(n.In, ", "))
		for j := range n.Params {
			p := &n.Params[j]
			fmt.Fprintf(&s, " %s=%s%s", p.Name, values(p.Type, p.Data), extents(p.Dims))
		}
		fmt.Fprintf(&s, " ; %s\n", n.Name)
	}
	return s.String()
}

func extents(dims []int) string {
	if dims == nil {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprint(dims), " ", ",")
}

func (q *Quant) String() string {
	var s strings.Builder
	switch {
	case q.Scale != 0:
		fmt.Fprintf(&s, " scale=%g offset=%d", q.Scale, q.Offset)
	case len(q.Scales) > 0:
		fmt.Fprintf(&s, " axis=%d scales=%08x offsets=%08x", q.Axis, checksum(q.Scales), checksum(q.Offsets))
	}
	if q.Bits != 0 {
		fmt.Fprintf(&s, " bits=%d", q.Bits)
	}
	if len(q.BlockScales) > 0 {
		fmt.Fprintf(&s, " blocks=%d:%08x", len(q.BlockScales), checksum(q.BlockScales))
	}
	return s.String()
}

// checksum returns that of numbers of fixed size.
func checksum(v any) uint32 {
	h := crc32.NewIEEE()
	if err := binary.Write(h, binary.LittleEndian, v); err != nil {
		panic("native: checksum of " + err.Error())
	}
	return h.Sum32()
}

// values returns data as numbers if there are at most 16, else how many bytes and
// their checksum.
func values(d DType, data []byte) string {
	size := d.Size()
	if size == 0 || len(data) > 16*size {
		return fmt.Sprintf("%d bytes %08x", len(data), crc32.ChecksumIEEE(data))
	}
	var s []string
	for ; len(data) >= size; data = data[size:] {
		s = append(s, value(d, data))
	}
	return strings.Join(s, " ")
}

// value returns the number of type d at the start of b.
func value(d DType, b []byte) string {
	var word [8]byte
	copy(word[:], b[:d.Size()])
	n := binary.LittleEndian.Uint64(word[:])
	shift := 64 - 8*d.Size()
	switch d {
	case Float32:
		return fmt.Sprint(math.Float32frombits(uint32(n)))
	case Float16:
		return fmt.Sprint(float16.Frombits(uint16(n)))
	case BFloat16:
		return fmt.Sprint(math.Float32frombits(uint32(n) << 16))
	case Int8, Int16, Int32, Int64, SFixed8, SFixed16, SFixed32:
		return fmt.Sprint(int64(n<<shift) >> shift)
	}
	return fmt.Sprint(n)
}
