package chat

import (
	"errors"
	"math"
	"reflect"
	"strings"

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
	case v.IsFloat() && math.IsInf(v.Float(), 0), v.IsFloat() && math.IsNaN(v.Float()):
		return strings.ToLower(strings.TrimPrefix(v.String(), "+"))
	case v.IsDict():
		var parts []string
		for _, p := range pairs(v) {
			parts = append(parts, repr(p.Key)+": "+repr(p.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.String()
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
