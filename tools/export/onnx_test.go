package export

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// A fields is a message as it is read: what stands under each field's number.
type fields map[int][]field

type field struct {
	number uint64
	data   string
}

// decode reads the fields of a message.
func decode(t testing.TB, data string) fields {
	t.Helper()
	out := fields{}
	for len(data) > 0 {
		tag, n := binary.Uvarint([]byte(data))
		require.Positive(t, n, "tag of a field")
		data = data[n:]
		var f field
		switch tag & 7 {
		case varint:
			f.number, n = binary.Uvarint([]byte(data))
			require.Positive(t, n, "number of a field")
		case length:
			size, m := binary.Uvarint([]byte(data))
			require.Positive(t, m, "length of a field")
			n = m + int(size)
			require.LessOrEqual(t, n, len(data), "length of a field")
			f.data = data[m:n]
		case fixed32:
			n = 4
			require.LessOrEqual(t, n, len(data))
			f.number = uint64(binary.LittleEndian.Uint32([]byte(data)))
		default:
			t.Fatalf("field of kind %d", tag&7)
		}
		out[int(tag>>3)] = append(out[int(tag>>3)], f)
		data = data[n:]
	}
	return out
}

func (f fields) text(number int) string {
	if len(f[number]) == 0 {
		return ""
	}
	return f[number][0].data
}

func (f fields) texts(number int) []string {
	var out []string
	for _, x := range f[number] {
		out = append(out, x.data)
	}
	return out
}

func (f fields) subs(t testing.TB, number int) []fields {
	t.Helper()
	var out []fields
	for _, x := range f[number] {
		out = append(out, decode(t, x.data))
	}
	return out
}

// onnxText prints what a model holds.
func onnxText(t testing.TB, data string) string {
	var b strings.Builder
	m := decode(t, data)
	fmt.Fprintf(&b, "ir %d by %s\n", m[1][0].number, m.text(2))
	for _, o := range m.subs(t, 8) {
		fmt.Fprintf(&b, "opset %q %d\n", o.text(1), o[2][0].number)
	}
	for _, p := range m.subs(t, 14) {
		fmt.Fprintf(&b, "about %s: %s\n", p.text(1), p.text(2))
	}
	graphText(t, &b, "", decode(t, m.text(7)))
	for _, f := range m.subs(t, 25) {
		fmt.Fprintf(&b, "function %s:%s (%s) (%s)\n", f.text(10), f.text(1), strings.Join(f.texts(4), " "), strings.Join(f.texts(5), " "))
		for _, v := range f.subs(t, 12) {
			infoText(t, &b, "  ", "value", v)
		}
		for _, n := range f.subs(t, 7) {
			nodeText(t, &b, "  ", n)
		}
	}
	return b.String()
}

func graphText(t testing.TB, b *strings.Builder, indent string, g fields) {
	fmt.Fprintf(b, "%sgraph %s\n", indent, g.text(2))
	for _, v := range g.subs(t, 11) {
		infoText(t, b, indent+"  ", "input", v)
	}
	for _, v := range g.subs(t, 12) {
		infoText(t, b, indent+"  ", "output", v)
	}
	for _, v := range g.subs(t, 13) {
		infoText(t, b, indent+"  ", "value", v)
	}
	for _, n := range g.subs(t, 1) {
		nodeText(t, b, indent+"  ", n)
	}
}

func infoText(t testing.TB, b *strings.Builder, indent, what string, v fields) {
	typ := decode(t, v.text(2))
	s := "opaque " + decode(t, typ.text(7)).text(2)
	if tensor := typ.text(1); tensor != "" {
		x := decode(t, tensor)
		var dims []string
		for _, d := range decode(t, x.text(2)).subs(t, 1) {
			if d.text(2) != "" {
				dims = append(dims, d.text(2))
			} else {
				dims = append(dims, fmt.Sprint(d[1][0].number))
			}
		}
		s = fmt.Sprintf("%d[%s]", x[1][0].number, strings.Join(dims, ","))
	}
	fmt.Fprintf(b, "%s%s %s : %s", indent, what, v.text(1), s)
	if v.text(3) != "" {
		fmt.Fprintf(b, " (%s)", v.text(3))
	}
	b.WriteString("\n")
}

func nodeText(t testing.TB, b *strings.Builder, indent string, n fields) {
	fmt.Fprintf(b, "%s%s = %s:%s (%s) %q", indent, strings.Join(n.texts(2), " "), n.text(7), n.text(4), strings.Join(n.texts(1), " "), n.text(3))
	var body fields
	for _, a := range n.subs(t, 5) {
		switch a[20][0].number {
		case floatAttr:
			fmt.Fprintf(b, " %s=%08x", a.text(1), a[2][0].number)
		case intAttr:
			fmt.Fprintf(b, " %s=%d", a.text(1), int64(a[3][0].number))
		case stringAttr:
			fmt.Fprintf(b, " %s=%s", a.text(1), a.text(4))
		case tensorAttr:
			x := decode(t, a.text(5))
			fmt.Fprintf(b, " %s=%d:%x", a.text(1), x[2][0].number, x.text(9))
		case graphAttr:
			body = decode(t, a.text(6))
		}
	}
	for _, p := range n.subs(t, 9) {
		fmt.Fprintf(b, " {%s: %s}", p.text(1), p.text(2))
	}
	b.WriteString("\n")
	if body != nil {
		graphText(t, b, indent+"    ", body)
	}
}

// checkONNX: a function for each graph, a node for each value that is computed;
// what a node takes was made before it, and each name is made once.
func checkONNX(t testing.TB, m *ir.Module, data string) {
	t.Helper()
	model := decode(t, data)
	main := decode(t, model.text(7))
	var made []string
	for _, v := range main.subs(t, 11) {
		made = append(made, v.text(1))
	}
	made = checkNodes(t, "main", made, main.subs(t, 1))
	for _, v := range main.subs(t, 12) {
		require.Contains(t, made, v.text(1), "output of main")
	}
	functions := model.subs(t, 25)
	require.Len(t, functions, len(m.Graphs))
	for i, g := range m.Graphs {
		f := functions[i]
		require.Equal(t, g.Name, f.text(1))
		made := checkNodes(t, g.Name, f.texts(4), f.subs(t, 7))
		for _, v := range g.Values {
			require.Contains(t, made, label(v), g.Name)
		}
		require.Len(t, f.texts(5), len(g.Outputs), g.Name)
		require.Subset(t, made, f.texts(5), g.Name)
		require.Len(t, f.subs(t, 12), len(g.Values), "types of %s", g.Name)
	}
}

// checkNodes returns all names that there are after the nodes.
func checkNodes(t testing.TB, where string, made []string, nodes []fields) []string {
	t.Helper()
	made = slices.Clone(made)
	for _, n := range nodes {
		for _, p := range n.subs(t, 9) {
			require.True(t, utf8.ValidString(p.text(2)), "%s: property %s of %s", where, p.text(1), n.text(3))
		}
		for _, in := range n.texts(1) {
			require.Contains(t, made, in, "%s: operand of %s", where, n.text(3))
		}
		for _, a := range n.subs(t, 5) {
			if g := a.text(6); g != "" {
				body := decode(t, g)
				var inner []string
				for _, v := range body.subs(t, 11) {
					inner = append(inner, v.text(1))
				}
				checkNodes(t, where+" "+n.text(3), slices.Concat(made, inner), body.subs(t, 1))
			}
		}
		made = append(made, n.texts(2)...)
	}
	unique := slices.Clone(made)
	slices.Sort(unique)
	require.Len(t, slices.Compact(unique), len(made), "%s: names that are made twice", where)
	return made
}
