package chat

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// What sums, products and powers may be, which gonja does not bound.
const (
	maxRepeated = 1 << 20 // bytes of a text times a number, and of one with what a filter adds
	maxWhole    = 1 << 53
)

// number is v as Python counts with it; nil if it does not.
func number(v *exec.Value) *exec.Value {
	switch {
	case v.IsNumber():
		return v
	case v.IsBool() && v.Bool():
		return exec.AsValue(1)
	case v.IsBool():
		return exec.AsValue(0)
	}
	return nil
}

// plus is Python's sum of numbers, texts or lists.
func plus(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	y := args.First()
	m, n := number(x), number(y)
	switch {
	case m != nil && n != nil && (m.IsFloat() || n.IsFloat()):
		return exec.AsValue(m.Float() + n.Float())
	case m != nil && n != nil && math.Abs(m.Float()+n.Float()) <= maxWhole:
		return exec.AsValue(m.Integer() + n.Integer())
	case m != nil && n != nil:
		return refused(e, fmt.Errorf("the chat template makes a sum of more than %d", maxWhole))
	case x.IsString() && y.IsString():
		return exec.AsValue(x.String() + y.String())
	case x.IsList() && y.IsList():
		return exec.AsValue(append(elements(x), elements(y)...))
	}
	return refused(e, fmt.Errorf("the chat template adds %.100q and %.100q: two numbers, texts or lists are needed", x.String(), y.String()))
}

func minus(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	y := number(args.First())
	switch {
	case number(x) == nil || y == nil:
		return refused(e, fmt.Errorf("the chat template takes %.100q from %.100q: numbers are needed", args.First().String(), x.String()))
	case y.IsFloat():
		y = exec.AsValue(-y.Float())
	default:
		y = exec.AsValue(-y.Integer())
	}
	return plus(e, x, &exec.VarArgs{Args: []*exec.Value{y}})
}

// times is Python's product of numbers, or of a text and a number, bounded.
func times(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	y := args.First()
	if !x.IsString() && y.IsString() {
		x, y = y, x
	}
	m, n := number(x), number(y)
	switch {
	case m != nil && n != nil && (m.IsFloat() || n.IsFloat()):
		return exec.AsValue(m.Float() * n.Float())
	case m != nil && n != nil && math.Abs(m.Float()*n.Float()) > maxWhole:
		return refused(e, fmt.Errorf("the chat template makes a product of more than %d", maxWhole))
	case m != nil && n != nil:
		return exec.AsValue(m.Integer() * n.Integer())
	case !x.IsString() || n == nil || n.IsFloat():
		return refused(e, fmt.Errorf("the chat template multiplies %.100q by %.100q: numbers are needed, or one and a text", x.String(), y.String()))
	}
	text, often := x.String(), max(0, n.Integer())
	if often > 0 && len(text) > maxRepeated/often {
		return refused(e, fmt.Errorf("the chat template makes a text of %d bytes times %d is more than %d bytes", len(text), often, maxRepeated))
	}
	return exec.AsValue(strings.Repeat(text, often))
}

// power is gonja's, bounded; whole numbers stay whole.
func power(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	x, y := number(x), number(args.First())
	if x == nil || y == nil {
		return refused(e, errors.New("the chat template takes a power of what is no number"))
	}
	z := math.Pow(x.Float(), y.Float())
	if !(math.Abs(z) <= maxWhole) {
		return refused(e, fmt.Errorf("the chat template makes a power of more than %d", maxWhole))
	}
	if x.IsInteger() && y.IsInteger() && y.Integer() >= 0 {
		return exec.AsValue(int(z))
	}
	return exec.AsValue(z)
}

// operands are what may be divided; otherwise x is an error.
func operands(e *exec.Evaluator, x, y *exec.Value) (*exec.Value, *exec.Value) {
	m, n := number(x), number(y)
	switch {
	case m == nil || n == nil:
		return refused(e, fmt.Errorf("the chat template divides %.100q by %.100q: numbers are needed", x.String(), y.String())), nil
	case n.Float() == 0:
		return refused(e, errors.New("the chat template divides by zero")), nil
	}
	return m, n
}

// divided is x / y.
func divided(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	x, y := operands(e, x, args.First())
	if x.IsError() {
		return x
	}
	return exec.AsValue(x.Float() / y.Float())
}

// floored is x // y.
func floored(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	q, _ := divmod(e, x, args.First())
	return q
}

// divmod is Python's, of whose quotient the floor is taken: gonja takes what is nearer to zero.
func divmod(e *exec.Evaluator, x, y *exec.Value) (quotient, rest *exec.Value) {
	if x, y = operands(e, x, y); x.IsError() {
		return x, x
	}
	if x.IsInteger() && y.IsInteger() {
		q, r := x.Integer()/y.Integer(), x.Integer()%y.Integer()
		if r != 0 && (r < 0) != (y.Integer() < 0) {
			q, r = q-1, r+y.Integer()
		}
		return exec.AsValue(q), exec.AsValue(r)
	}
	r := math.Mod(x.Float(), y.Float())
	switch {
	case r == 0:
		r = math.Copysign(0, y.Float())
	case (r < 0) != (y.Float() < 0):
		r += y.Float()
	}
	return exec.AsValue(math.Round((x.Float() - r) / y.Float())), exec.AsValue(r)
}

// absolute is gonja's abs, of numbers.
func absolute(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	n := number(in)
	if n == nil {
		return exec.AsValue(fmt.Errorf("%.100q is no number", in.String()))
	}
	filter, _ := builtins.Filters.Get("abs")
	return filter(e, n, args)
}

// round is Jinja's: to the nearest, of two the even, unless a method says otherwise.
func round(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	precision := argument(args, 0, "precision")
	if method := argument(args, 1, "method"); method != nil && method.String() != "common" {
		filter, _ := builtins.Filters.Get("round")
		if in = filter(e, in, args); in.IsFloat() {
			in = exec.AsValue(in.Float() + 0) // not -0
		}
		return in
	}
	switch n := number(in); {
	case n == nil:
		return refused(e, fmt.Errorf("the chat template rounds %.100q, which is no number", in.String()))
	case precision != nil && (!precision.IsInteger() || precision.Integer() < 0 || precision.Integer() > 20):
		return exec.AsValue(errors.New("a precision is a number from 0 to 20"))
	case n.IsInteger():
		return n
	case precision == nil:
		return exec.AsValue(math.RoundToEven(n.Float()))
	}
	x, _ := strconv.ParseFloat(strconv.FormatFloat(in.Float(), 'f', precision.Integer(), 64), 64)
	return exec.AsValue(x)
}

// sum is Jinja's, from a start.
func sum(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	total := exec.AsValue(0)
	if start := argument(args, 1, "start"); start != nil {
		total = start
	}
	if in = attributes(e, in, argument(args, 0, "attribute")); in.IsError() {
		return in
	}
	for _, v := range elements(in) {
		total = plus(e, total, &exec.VarArgs{Args: []*exec.Value{exec.ToValue(v)}})
	}
	return total
}
