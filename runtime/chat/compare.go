package chat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// equal is Python's ==, but that a list and a tuple may be.
func equal(x, y *exec.Value) bool {
	m, n := number(x), number(y)
	switch {
	case m != nil && n != nil:
		return m.Float() == n.Float()
	case m != nil || n != nil || isNone(x) || isNone(y):
		return isNone(x) && isNone(y)
	case x.IsString() || y.IsString():
		return x.IsString() && y.IsString() && x.String() == y.String()
	case x.IsList() && y.IsList():
		return slices.EqualFunc(values(x), values(y), equal)
	case x.IsDict() && y.IsDict():
		a := pairs(x)
		return len(a) == len(pairs(y)) && !slices.ContainsFunc(a, func(p *exec.Pair) bool {
			v, ok := lookup(y, p.Key)
			return !ok || !equal(p.Value, v)
		})
	}
	return x.EqualValueTo(y)
}

// contains is Python's in.
func contains(x, v *exec.Value) (bool, error) {
	switch {
	case x.IsString() && v.IsString():
		return strings.Contains(x.String(), v.String()), nil
	case x.IsDict():
		_, ok := lookup(x, v)
		return ok, nil
	case x.IsList():
		return slices.ContainsFunc(values(x), func(y *exec.Value) bool { return equal(v, y) }), nil
	case x.IsNil():
		return false, nil
	}
	return false, fmt.Errorf("the chat template looks for %.100q in %.100q", v.String(), x.String())
}

// compare orders two texts or two numbers.
func compare(x, y *exec.Value, sensitive bool) (order int, comparable bool) {
	if m, n := number(x), number(y); m != nil && n != nil {
		return cmp.Compare(m.Float(), n.Float()), true
	}
	a, b := x.String(), y.String()
	if !sensitive {
		a, b = strings.ToLower(a), strings.ToLower(b)
	}
	return strings.Compare(a, b), x.IsString() && y.IsString()
}

func values(x *exec.Value) []*exec.Value {
	var out []*exec.Value
	for _, v := range elements(x) {
		out = append(out, exec.ToValue(v))
	}
	return out
}
