package chat

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// shown is Python's str.
func shown(v *exec.Value) string {
	if v.IsNil() || v.IsString() {
		return v.String()
	}
	return repr(v)
}

// repr is what Python prints of a value within others: gonja leaves texts as they are.
func repr(v *exec.Value) string {
	switch {
	case v.IsNil():
		return "Undefined"
	case v.IsString():
		return quote(v.String())
	case v.IsList():
		var parts []string
		for _, x := range values(v) {
			parts = append(parts, repr(x))
		}
		if _, is := v.Interface().(tuple); !is && v.Val.Kind() != reflect.Array { // which gonja's loops make
			return "[" + strings.Join(parts, ", ") + "]"
		}
		if len(parts) == 1 {
			parts[0] += ","
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case v.IsDict():
		var parts []string
		for _, p := range pairs(v) {
			parts = append(parts, repr(p.Key)+": "+repr(p.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.String()
}

// quote writes a text as a literal of Python.
func quote(text string) string {
	mark := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		mark = '"'
	}
	var b strings.Builder
	b.WriteRune(mark)
	for _, c := range text {
		switch i := strings.IndexRune("\n\r\t", c); {
		case i >= 0:
			b.WriteString(`\` + "nrt"[i:i+1])
		case c == mark || c == '\\':
			b.WriteString(`\` + string(c))
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			fmt.Fprintf(&b, `\x%02x`, c)
		case c < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			fmt.Fprintf(&b, `\U%08x`, c)
		}
	}
	b.WriteRune(mark)
	return b.String()
}

// asText is the filter of shown, of what is not too long.
func asText(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	if in.IsCallable() {
		return refused(e, errors.New("the chat template prints a function"))
	}
	if out := shown(in); len(out) <= maxRepeated || in.IsString() {
		return exec.AsValue(out)
	}
	return refused(e, tooLong("printing"))
}

// joint is x ~ y.
func joint(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	return exec.AsValue(shown(x) + shown(args.First()))
}
