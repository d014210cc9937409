package chat

import (
	"errors"
	"reflect"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// An assignment is a set of a part of an object, which must not come to hold itself:
// gonja would print it for ever.
type assignment struct {
	nodes.ControlStructure
	object nodes.Expression
}

// assigned parses set, and looks at what it sets.
func assigned(set parser.ControlStructureParser) parser.ControlStructureParser {
	return func(p, args *parser.Parser) (nodes.ControlStructure, error) {
		var words []*tokens.Token
		for !args.End() {
			words = append(words, args.Next())
		}
		again := func() *parser.Parser {
			return parser.NewParser("set", tokens.NewStream(words), p.Config, p.Loader, nil)
		}
		names := again()
		target, err := names.ParseVariableOrLiteral()
		if err != nil {
			return nil, err
		}
		if names.Match(tokens.Comma) != nil {
			return nil, errors.New("set of several names at once is not known: each needs its own")
		}
		s, err := set(p, again())
		switch t := target.(type) {
		case *nodes.GetAttribute:
			return assignment{s, t.Node}, err
		case *nodes.GetItem:
			return assignment{s, t.Node}, err
		}
		return s, err
	}
}

func (a assignment) Execute(r *exec.Renderer, tag *nodes.ControlStructureBlock) error {
	if err := a.ControlStructure.(exec.ControlStructure).Execute(r, tag); err != nil {
		return err
	}
	w := walk{left: 1 << 20}
	if w.deep(r.Eval(a.object).Val, 0) {
		g := guardOf(r)
		g.stop(errors.New("the chat template makes a value that holds itself, or very many"))
		return g.err()
	}
	return nil
}

// A walk goes through a value, as long as it has steps left.
type walk struct{ left int }

// deep reports whether v holds too much to be walked through.
func (w *walk) deep(v reflect.Value, level int) bool {
	if w.left--; w.left < 0 || level > maxDeep {
		return true
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if x, ok := v.Interface().(*exec.Value); ok && x != nil {
			return w.deep(x.Val, level+1)
		}
		return w.deep(v.Elem(), level+1)
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if w.deep(i.Value(), level+1) {
				return true
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if w.deep(v.Index(i), level+1) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && w.deep(v.Field(i), level+1) {
				return true
			}
		}
	}
	return false
}
