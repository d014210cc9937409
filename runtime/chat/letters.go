package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
)

// letters is what is gone through: of a text its characters, of which gonja sees the bytes.
func letters(v *exec.Value) *exec.Value {
	if v.IsString() {
		return exec.AsValue(strings.Split(v.String(), ""))
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

// loopedName is the filter that the object of a loop goes through.
const loopedName = "looped"

// looped returns what a loop may go through.
func looped(e *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() || in.IsNil() || in.IsIterable() {
		return letters(in)
	}
	return refused(e, fmt.Errorf("the chat template goes through %.100q, which is no list", in.String()))
}

func loopOver(object nodes.Expression) nodes.Expression {
	return &nodes.FilteredExpression{Expression: object, Filters: []*nodes.FilterCall{{Token: object.Position(), Name: loopedName}}}
}
