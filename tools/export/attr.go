package export

import (
	"fmt"
	"reflect"
	"strings"

	"estream/ir"
)

// An attr is a field of an operator's attribute: an int, float64, bool, string,
// ir.DType or []ir.Dim, named as in IR text.
type attr struct {
	name  string
	value any
}

// attrs returns the fields of v's attribute that IR text shows.
func attrs(v *ir.Value) []attr {
	if v.Attr == nil {
		return nil
	}
	return fieldsOf(reflect.ValueOf(v.Attr))
}

func fieldsOf(s reflect.Value) []attr {
	var out []attr
	for i := range s.NumField() {
		f := s.Type().Field(i)
		switch {
		case f.Anonymous:
			out = append(out, fieldsOf(s.Field(i))...)
		case f.Tag.Get("ir") != "omitzero" || !s.Field(i).IsZero():
			out = append(out, attr{strings.ToLower(f.Name), s.Field(i).Interface()})
		}
	}
	return out
}

// String is the field as in IR text.
func (a attr) String() string {
	if dims, ok := a.value.([]ir.Dim); ok {
		return a.name + "=" + dimsText(dims)
	}
	return fmt.Sprintf("%s=%v", a.name, a.value)
}

func dimsText(dims []ir.Dim) string {
	var parts []string
	for _, d := range dims {
		parts = append(parts, d.String())
	}
	return strings.Join(parts, ",")
}
