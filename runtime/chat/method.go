package chat

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// methodName is the name of method in a rewritten template.
const methodName = inner + "method"

// method is x.name(...): gonja knows it of few expressions, and works them out twice.
func method(e *exec.Evaluator, args *exec.VarArgs) (*exec.Value, error) {
	if len(args.Args) < 2 {
		return nil, errors.New("a method needs a value and a name")
	}
	x, name := args.Args[0], args.Args[1].String()
	rest := &exec.VarArgs{Args: args.Args[2:], KwArgs: args.KwArgs}
	var out any
	err := fmt.Errorf("unknown method '%s'", name)
	if x.IsString() {
		if m, ok := e.Environment.Methods.Str.Get(name); ok {
			out, err = m(x.String(), x, rest)
		}
		return exec.AsValue(out), err
	}
	if m, ok := e.Environment.Methods.Dict.Get(name); ok && x.IsDict() {
		out, err = m(nil, x, rest)
		return exec.AsValue(out), err
	}
	f, ok := x.GetAttribute(name)
	if !ok {
		f, ok = x.GetItem(name)
	}
	if f.IsError() {
		return f, nil
	}
	if ok && f.IsCallable() && f.Val.Type().NumIn() == 1 && f.Val.Type().In(0) == reflect.TypeFor[*exec.VarArgs]() {
		return f.Val.Call([]reflect.Value{reflect.ValueOf(rest)})[0].Interface().(*exec.Value), nil
	}
	return nil, err
}
