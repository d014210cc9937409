package ir

import (
	"fmt"
	"reflect"
	"strings"
)

// An Op is an operation: everything that the builder, the verifier and the text
// form know of it. Two Ops are the same if their pointers are.
type Op struct {
	Name string // as printed; lower case, unique in an op set

	// Operands has one letter an operand: t tensor, i i32 tensor, s state.
	// A last letter followed by + may repeat; * alone is any list.
	Operands string

	// Attr is a value of the attribute's struct type; nil for none. Its fields
	// are ints, float64s, bools, strings without spaces, DTypes or []Dims. One
	// tagged ir:"omitzero" is not printed while it is zero, so that an attribute
	// grows without changing older text.
	Attr any

	// Infer returns the result's type, or why the operands do not fit. It may
	// trust Operands and Attr to be right. Nil: the type is declared.
	Infer func(args []Type, attr any) (Type, error)

	// Columnwise says that a column of the result depends on the same column of
	// the operands alone, so that the op may work on some of the columns.
	Columnwise bool

	Doc string // one line: what the result is
}

func (o *Op) String() string { return o.Name }

// InplaceAttr is the attribute of an op whose result is operand Inplace, written
// over; attributes of other ops that write in place embed it.
type InplaceAttr struct{ Inplace int }

func (a InplaceAttr) inplace() int { return a.Inplace }

// Ops is a set of operations by name.
type Ops map[string]*Op

// NewOps returns the set of ops; two of one name, or a malformed one, are an error.
func NewOps(ops ...*Op) (Ops, error) {
	set := Ops{}
	for _, o := range ops {
		if err := o.check(); err != nil {
			return nil, err
		}
		if old, ok := set[o.Name]; ok && old != o {
			return nil, fmt.Errorf("ir: two operators are named %q", o.Name)
		}
		set[o.Name] = o
	}
	return set, nil
}

func (o *Op) check() error {
	if !isName(o.Name) || o.Name == "graph" || o.Name == "return" || o.Name == "layers" {
		return fmt.Errorf("ir: bad operator name %q", o.Name)
	}
	letters, more := strings.CutSuffix(o.Operands, "+")
	if o.Operands != "*" && (strings.Trim(letters, "tis") != "" || more && letters == "") {
		return fmt.Errorf("ir: operator %s: bad operands %q", o.Name, o.Operands)
	}
	if o.Attr == nil {
		return nil
	}
	if err := checkAttr(reflect.TypeOf(o.Attr)); err != nil {
		return fmt.Errorf("ir: operator %s: %w", o.Name, err)
	}
	return nil
}

func checkAttr(t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return fmt.Errorf("attribute %s is not a struct", t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported():
			return fmt.Errorf("attribute field %s is not exported", f.Name)
		case f.Anonymous:
			if err := checkAttr(f.Type); err != nil {
				return err
			}
		case !attrKinds[f.Type]:
			return fmt.Errorf("attribute field %s has type %s", f.Name, f.Type)
		}
	}
	return nil
}

var attrKinds = map[reflect.Type]bool{
	reflect.TypeFor[int]():     true,
	reflect.TypeFor[float64](): true,
	reflect.TypeFor[bool]():    true,
	reflect.TypeFor[string]():  true,
	reflect.TypeFor[DType]():   true,
	reflect.TypeFor[[]Dim]():   true,
}

// checkOperands checks args against the letters of Operands.
func (o *Op) checkOperands(args []Type) error {
	if o.Operands == "*" {
		return nil
	}
	letters, more := strings.CutSuffix(o.Operands, "+")
	if len(args) < len(letters) || len(args) > len(letters) && !more {
		return fmt.Errorf("%d operands, want %d", len(args), len(letters))
	}
	for i, a := range args {
		want := letters[min(i, len(letters)-1)]
		got := byte('t')
		switch a.DType {
		case I32:
			got = 'i'
		case State:
			got = 's'
		}
		if got != want {
			return fmt.Errorf("operand %d has type %s, want %s", i, a, map[byte]string{'t': "a tensor", 'i': "i32", 's': "a state"}[want])
		}
		if got != 's' && a.Rank() == 0 {
			return fmt.Errorf("operand %d has no extents", i)
		}
	}
	return nil
}

// infer checks operands and attribute and returns the result's type; declared
// is returned for ops that infer nothing.
func (o *Op) infer(args []Type, attr any, declared Type) (Type, error) {
	if err := o.checkOperands(args); err != nil {
		return Type{}, err
	}
	if want, got := reflect.TypeOf(o.Attr), reflect.TypeOf(attr); want != got {
		return Type{}, fmt.Errorf("attribute is %v, want %v", got, want)
	}
	if a, ok := attr.(interface{ inplace() int }); ok && (a.inplace() < 0 || a.inplace() >= len(args)) {
		return Type{}, fmt.Errorf("inplace=%d is no operand", a.inplace())
	}
	if o.Infer == nil {
		return declared, nil
	}
	return o.Infer(args, attr)
}
