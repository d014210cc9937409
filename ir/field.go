package ir

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// A Field is one of an operator's attribute: an int, float64, bool, string, DType or
// []Dim.
type Field struct {
	Name  string // as in text
	Value any
}

// Fields are those of v's attribute that its text shows, in that order.
func (v *Value) Fields() []Field {
	if v.Attr == nil {
		return nil
	}
	var out []Field
	for _, f := range attrFields(reflect.ValueOf(v.Attr)) {
		if !f.omitzero || !f.value.IsZero() {
			out = append(out, Field{f.name, f.value.Interface()})
		}
	}
	return out
}

// String is the field as in text: "k=8".
func (f Field) String() string { return f.Name + "=" + f.Text() }

// Text is the field's value as in text.
func (f Field) Text() string {
	switch x := f.Value.(type) {
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case []Dim:
		return dimsString(x)
	default:
		return fmt.Sprint(x)
	}
}

// reads reports whether Parse takes the field's text.
func (f Field) reads() bool {
	switch x := f.Value.(type) {
	case float64:
		return !math.IsNaN(x) && !math.IsInf(x, 0)
	case string:
		return isWord(x)
	}
	return true
}

type attrField struct {
	name     string
	value    reflect.Value
	omitzero bool
}

// attrFields lists the fields of an attribute, those of embedded structs too.
func attrFields(v reflect.Value) []attrField {
	var fields []attrField
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous {
			fields = append(fields, attrFields(v.Field(i))...)
		} else {
			fields = append(fields, attrField{strings.ToLower(f.Name), v.Field(i), f.Tag.Get("ir") == "omitzero"})
		}
	}
	return fields
}
