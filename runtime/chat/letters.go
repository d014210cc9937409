package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
)

// letters is what is gone through: of a text its characters, of which gonja sees the bytes, of a dict its keys.
func letters(v *exec.Value) *exec.Value {
	switch {
	case v.IsString():
		return exec.AsValue(strings.Split(v.String(), ""))
	case v.IsDict():
		keys := exec.ValuesList{}
		for _, p := range pairs(v) {
			keys = append(keys, p.Key)
		}
		return exec.AsValue(keys)
	}
	return v
}

// elements are those of a list, the characters of a text or the keys of a dict.
func elements(v *exec.Value) []any {
	list := []any{}
	letters(v).Iterate(func(_, _ int, x, _ *exec.Value) bool {
		list = append(list, x.Interface())
		return true
	}, func() {})
	return list
}

// reverse turns around what elements are of: gonja sorts them, too.
func reverse(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	list := elements(in)
	slices.Reverse(list)
	if in.IsString() {
		return join(e, exec.AsValue(list), exec.NewVarArgs())
	}
	return exec.AsValue(list)
}

// loopedName and pairsName are the filters that the object of a loop goes through.
const (
	loopedName = inner + "looped"
	pairsName  = inner + "pairs"
)

// looped returns what a loop may go through.
func looped(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() || in.IsNil() || in.IsIterable() {
		return letters(in)
	}
	return refused(e, fmt.Errorf("the chat template goes through %.100q, which is no list", in.String()))
}

// loopedPairs returns what a loop with two names may go through.
func loopedPairs(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	in = looped(e, in, args)
	for _, v := range values(in) {
		if !v.IsList() || v.Len() != 2 {
			return refused(e, fmt.Errorf("the chat template goes through %.100q by pairs, which it is none of", v.String()))
		}
	}
	return in
}

func loopOver(object nodes.Expression, filter string) nodes.Expression {
	return &nodes.FilteredExpression{Expression: object, Filters: []*nodes.FilterCall{{Token: object.Position(), Name: filter}}}
}
