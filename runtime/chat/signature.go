package chat

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// takes refuses arguments beside those of the names; one without a name is given by its place alone.
func takes(args *exec.VarArgs, names ...string) error {
	if len(args.Args) > len(names) {
		return fmt.Errorf("%d arguments are too many: at most %d are known", len(args.Args), len(names))
	}
	for _, name := range slices.Sorted(maps.Keys(args.KwArgs)) {
		if !slices.Contains(names[len(args.Args):], name) {
			return fmt.Errorf("there is no argument %.100q, or it is given twice", name)
		}
	}
	return nil
}

// taking is a filter that takes arguments of the names alone.
func taking(filter exec.FilterFunction, names ...string) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		if err := takes(args, names...); err != nil {
			return exec.AsValue(err)
		}
		return filter(e, in, args)
	}
}

// given is a method that takes arguments of the names alone.
func given(method exec.Method[string], names ...string) exec.Method[string] {
	return func(s string, self *exec.Value, args *exec.VarArgs) (any, error) {
		if err := takes(args, names...); err != nil {
			return nil, err
		}
		return method(s, self, args)
	}
}
