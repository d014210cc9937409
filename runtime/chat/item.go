package chat

import (
	"errors"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// itemName is the name of item in a rewritten template.
const itemName = inner + "item"

// item is x[i] of Jinja: a negative index counts from the end, and nothing is there beyond an end.
func item(args *exec.VarArgs) (*exec.Value, error) {
	if len(args.Args) != 2 {
		return nil, errors.New("an index needs a value and a place")
	}
	x, i := args.Args[0], args.Args[1]
	if i.IsString() {
		v, ok := x.GetItem(i.String())
		if !ok && !v.IsError() {
			v, _ = x.GetAttribute(i.String())
		}
		return v, nil
	}
	n := i.Integer()
	switch {
	case x.IsDict():
		v, _ := lookup(x, i)
		return v, nil
	case !i.IsInteger():
		return nil, errors.New("an index is neither a text nor a whole number")
	case !x.IsString() && !x.IsList() && !isNone(x):
		v, _ := x.GetItem(n) // which is an error
		return v, nil
	}
	if n < 0 {
		n += x.Len()
	}
	if n < 0 || n >= x.Len() {
		return exec.AsValue(nil), nil
	}
	return x.Index(n), nil
}
