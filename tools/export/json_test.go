package export

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// text prints g as IR text, attributes in the order that their operator declares.
func (g *jsonGraph) text(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%sgraph %s", indent, g.Name)
	if g.On != "" {
		b.WriteString(" on " + g.On)
	}
	b.WriteString("\n")
	for _, v := range g.Values {
		fmt.Fprintf(b, "%s  %%%d", indent, v.ID)
		if v.Name != "" {
			b.WriteString(":" + v.Name)
		}
		fmt.Fprintf(b, " = %s%s%s : %s", v.Op, refs(v.Args), v.attrText(), v.Type.Text)
		if v.Slot != 0 {
			fmt.Fprintf(b, " slot %d", v.Slot)
		}
		if v.Origin != "" {
			b.WriteString(" from " + v.Origin)
		}
		b.WriteString("\n")
		if v.Body != nil {
			v.Body.text(b, indent+"    ")
		}
	}
	fmt.Fprintf(b, "%s  return%s\n", indent, refs(g.Outputs))
}

func refs(ids []int) string {
	var b strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&b, " %%%d", id)
	}
	return b.String()
}

func (v *jsonValue) attrText() string {
	var b strings.Builder
	for _, op := range ir.CoreOps() {
		if op.Name != v.Op || op.Attr == nil {
			continue
		}
		for _, name := range attrNames(reflect.TypeOf(op.Attr)) {
			if x, ok := v.Attr[name]; ok {
				b.WriteString(" " + name + "=" + valueText(x))
			}
		}
	}
	return b.String()
}

func attrNames(s reflect.Type) []string {
	var out []string
	for i := range s.NumField() {
		if f := s.Field(i); f.Anonymous {
			out = append(out, attrNames(f.Type)...)
		} else {
			out = append(out, strings.ToLower(f.Name))
		}
	}
	return out
}

func valueText(x any) string {
	list, ok := x.([]any)
	if !ok {
		return fmt.Sprint(x)
	}
	var parts []string
	for _, d := range list {
		parts = append(parts, fmt.Sprint(d))
	}
	return strings.Join(parts, ",")
}

// The type of a value says the same in its text and in its parts.
func TestTypeParts(t *testing.T) {
	var x jsonModel
	require.NoError(t, json.Unmarshal([]byte(written(t, "json", families(t)["lfm2 packed"])), &x))
	for _, g := range x.Graphs {
		for _, v := range g.Values {
			require.Equal(t, v.Type.Text, v.Type.rebuilt(), "%s %%%d", g.Name, v.ID)
		}
	}
}

func (t jsonType) rebuilt() string {
	if t.Kind != "" {
		var parts []string
		for _, p := range t.Parts {
			parts = append(parts, p.rebuilt())
		}
		return t.Kind + "(" + strings.Join(parts, ",") + ")"
	}
	return t.DType + "[" + valueText(t.Dims) + "]"
}

// docs/export.md names every field.
func TestSchemaDocumented(t *testing.T) {
	doc := read(t, "../../docs/export.md")
	require.Contains(t, doc, "`"+Schema+"`")
	for _, s := range []any{jsonModel{}, jsonClass{}, jsonOp{}, jsonGraph{}, jsonValue{}, jsonType{}, jsonFlow{}, jsonPort{}, jsonCall{}, jsonTake{}} {
		for f := range reflect.TypeOf(s).Fields() {
			require.Contains(t, doc, "`"+f.Tag.Get("json")+"`", "field %s of %T", f.Name, s)
		}
	}
}
