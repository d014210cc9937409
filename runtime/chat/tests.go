package chat

import (
	"fmt"
	"math"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// A test answers of a value, which is no error.
type test func(v *exec.Value, args *exec.VarArgs) (bool, error)

// tests are Jinja's, as gonja's have errors for values, and answer otherwise. There are no others.
func tests() *exec.TestSet {
	set := map[string]test{
		"even": alone(divisible(true, 2)), "odd": alone(divisible(false, 2)), "divisibleby": one(divisible(true, 0)),
		"eq": equals(true), "equalto": equals(true), "==": equals(true), "ne": equals(false), "!=": equals(false),
		"in": one(func(v *exec.Value, args *exec.VarArgs) (bool, error) {
			return contains(args.First(), v)
		}),
	}
	for name, is := range map[string]func(v *exec.Value) bool{
		"boolean":   (*exec.Value).IsBool,
		"defined":   func(v *exec.Value) bool { return !v.IsNil() },
		"undefined": (*exec.Value).IsNil,
		"float":     (*exec.Value).IsFloat,
		"integer":   (*exec.Value).IsInteger,
		"mapping":   (*exec.Value).IsDict,
		"string":    (*exec.Value).IsString,
		"true":      (*exec.Value).Bool,
		"none":      isNone,
		"false":     func(v *exec.Value) bool { return v.IsBool() && !v.Bool() },
		"number":    func(v *exec.Value) bool { return number(v) != nil },
		"callable":  func(v *exec.Value) bool { return v.IsNil() || v.IsCallable() },
		"lower":     func(v *exec.Value) bool { return v.IsString() && cased(v.String(), strings.ToLower, strings.ToUpper) },
		"upper":     func(v *exec.Value) bool { return v.IsString() && cased(v.String(), strings.ToUpper, strings.ToLower) },
		"iterable":  func(v *exec.Value) bool { return v.IsNil() || v.IsIterable() },
		"sequence":  func(v *exec.Value) bool { return v.IsNil() || v.IsIterable() },
	} {
		set[name] = alone(func(v *exec.Value, _ *exec.VarArgs) (bool, error) { return is(v), nil })
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
	out := map[string]exec.TestFunction{}
	for name, is := range set {
		out[name] = func(e *exec.Evaluator, v *exec.Value, args *exec.VarArgs) (bool, error) {
			if v.IsError() {
				return false, v
			}
			ok, err := is(v, args)
			if err != nil {
				refused(e, err)
			}
			return ok, err
		}
	}
	return exec.NewTestSet(out)
}

// alone is a test without an argument, one has one.
func alone(is test) test {
	return func(v *exec.Value, args *exec.VarArgs) (bool, error) {
		if err := takes(args); err != nil {
			return false, fmt.Errorf("the chat template tests %.100q: %w", v.String(), err)
		}
		return is(v, args)
	}
}

func one(is test) test {
	return func(v *exec.Value, args *exec.VarArgs) (bool, error) {
		if len(args.Args) != 1 || len(args.KwArgs) > 0 {
			return false, fmt.Errorf("the chat template tests %.100q by what takes one argument", v.String())
		}
		return is(v, args)
	}
}

// cased reports whether a text has letters of a case alone.
func cased(text string, as, other func(string) string) bool {
	return as(text) == text && other(text) != text
}

func equals(wanted bool) test {
	return one(func(v *exec.Value, args *exec.VarArgs) (bool, error) { return equal(v, args.First()) == wanted, nil })
}

// divisible is a test of what a number, or the argument, leaves of one.
func divisible(wanted bool, by float64) test {
	return func(v *exec.Value, args *exec.VarArgs) (bool, error) {
		n, d := number(v), number(args.First())
		if by != 0 {
			d = exec.AsValue(by)
		}
		if n == nil || d == nil || d.Float() == 0 {
			return false, fmt.Errorf("%.100q is divided by %.100q", v.String(), args.First().String())
		}
		return (math.Mod(n.Float(), d.Float()) == 0) == wanted, nil
	}
}

// compared is a test of how two values are ordered.
func compared(is func(order int) bool) test {
	return one(func(v *exec.Value, args *exec.VarArgs) (bool, error) {
		order, comparable := compare(v, args.First(), true)
		if !comparable {
			return false, fmt.Errorf("the chat template compares %.100q and %.100q: two numbers or texts are needed", v.String(), args.First().String())
		}
		return is(order), nil
	})
}
