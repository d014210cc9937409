package chat

import (
	"fmt"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// tests are gonja's, with those that Jinja answers otherwise.
func tests() *exec.TestSet {
	set := map[string]exec.TestFunction{}
	for name, is := range map[string]func(v *exec.Value) bool{
		"none":     isNone,
		"false":    func(v *exec.Value) bool { return v.IsBool() && !v.Bool() },
		"number":   func(v *exec.Value) bool { return number(v) != nil },
		"odd":      func(v *exec.Value) bool { return v.IsInteger() && v.Integer()%2 != 0 },
		"iterable": func(v *exec.Value) bool { return v.IsNil() || v.IsIterable() },
		"sequence": func(v *exec.Value) bool { return v.IsNil() || v.IsIterable() },
	} {
		set[name] = func(_ *exec.Evaluator, v *exec.Value, _ *exec.VarArgs) (bool, error) { return is(v), nil }
	}
	for names, is := range map[[3]string]func(order int) bool{
		{"lt", "lessthan", "<"}:    func(order int) bool { return order < 0 },
		{"le", "<="}:               func(order int) bool { return order <= 0 },
		{"gt", "greaterthan", ">"}: func(order int) bool { return order > 0 },
		{"ge", ">="}:               func(order int) bool { return order >= 0 },
	} {
		for _, name := range names {
			set[name] = compared(is)
		}
	}
	return exec.NewTestSet(map[string]exec.TestFunction{}).Update(builtins.Tests).Update(exec.NewTestSet(set))
}

// compared is a test of how two values are ordered.
func compared(is func(order int) bool) exec.TestFunction {
	return func(_ *exec.Evaluator, v *exec.Value, args *exec.VarArgs) (bool, error) {
		order, comparable := compare(v, args.First(), true)
		if !comparable {
			return false, fmt.Errorf("%.100q and %.100q cannot be compared", v.String(), args.First().String())
		}
		return is(order), nil
	}
}
