package chat

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// chosen wraps filters of the elements of what is a list, or is false. One of their arguments names a
// filter or test, of which gonja would take it for a value that there is none.
func chosen(place int, has func(e *exec.Environment, name string) bool) func(exec.FilterFunction) exec.FilterFunction {
	return func(filter exec.FilterFunction) exec.FilterFunction {
		return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
			if !in.IsTrue() {
				return exec.AsValue([]any{})
			}
			if len(args.Args) > place {
				if name := args.Args[place].String(); strings.HasPrefix(name, inner) || !has(e.Environment, name) {
					return exec.AsValue(fmt.Errorf("there is no %.100q", name))
				}
			}
			return lettered(filter)(e, in, args)
		}
	}
}

func hasFilter(e *exec.Environment, name string) bool { return e.Filters.Exists(name) }

func hasTest(e *exec.Environment, name string) bool { return e.Tests.Exists(name) }

// mapped is gonja's map, which needs a filter or an attribute.
func mapped(filter exec.FilterFunction) exec.FilterFunction {
	filter = chosen(0, hasFilter)(filter)
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		if len(args.Args) > 0 {
			return filter(e, in, args)
		}
		if args.KwArgs["attribute"] == nil {
			return exec.AsValue(errors.New("a filter or an attribute is needed"))
		}
		return taking(filter, "attribute", "default")(e, in, args)
	}
}
