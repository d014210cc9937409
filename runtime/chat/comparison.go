package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// comparison rewrites tokens [i,j) of one comparison, whose text begins at a place: "a < b" becomes
// "(a)|holds('<',b)".
func (r *rewriter) comparison(at, i, j int) string {
	sign := r.compares(i, j)
	if sign == j {
		return r.tested(at, i, j)
	}
	operator, right := r.toks[sign].Val, sign+1
	if operator == "not" {
		operator, right = "not in", sign+2
	}
	if next := r.compares(right, j); next < j {
		r.refuse(next, "a comparison of more than two values is not known: each pair needs its own")
	}
	left, other := r.tested(at, i, sign), r.tested(r.end(right-1), right, j)
	if strings.TrimSpace(left) == "" || strings.TrimSpace(other) == "" {
		return left + operator + other // which is no expression
	}
	return " ((" + left + ")|holds('" + operator + "'," + other + ")) "
}

// compares finds a sign of comparison outside brackets, or j; behind is it is a test.
func (r *rewriter) compares(i, j int) int {
	for k := i; k < j; k = r.next(k, j) {
		switch r.toks[k].Type {
		case tokens.Not:
			if k+1 < j && r.toks[k+1].Type == tokens.In && k > i && r.toks[k-1].Type != tokens.Is {
				return k
			}
		case tokens.In:
			if k > 0 && r.toks[k-1].Type != tokens.Is && (r.toks[k-1].Type != tokens.Not || k < 2 || r.toks[k-2].Type != tokens.Is) {
				return k
			}
		case tokens.Equals, tokens.Ne, tokens.LowerThan, tokens.LowerThanOrEqual, tokens.GreaterThan, tokens.GreaterThanOrEqual:
			return k
		}
	}
	return j
}

// tested rewrites a test, which stands alone: gonja has it of a whole sum, Jinja of its last part.
func (r *rewriter) tested(at, i, j int) string {
	is := i
	for is < j && r.toks[is].Type != tokens.Is {
		is = r.next(is, j)
	}
	if is == j {
		return r.sum(at, i, j)
	}
	for k := i; k < j; k = r.next(k, j) {
		t := r.toks[k].Type
		if k > is && (t == tokens.Is || t == tokens.Pipe) || k > i && slices.Contains(arithmetic, t) && (k > is || r.ends(k-1)) {
			r.refuse(k, "a test beside other operators is not known: it needs brackets")
		}
	}
	name := is + 1
	if name < j && r.toks[name].Type == tokens.Not {
		name++
	}
	if name >= j {
		return r.text[at:r.toks[j].Pos]
	}
	return " (" + r.sum(at, i, is) + r.text[r.toks[is].Pos:r.end(name)] + " " + r.sum(r.end(name), name+1, j) + ") "
}

var arithmetic = []tokens.Type{tokens.Addition, tokens.Subtraction, tokens.Tilde, tokens.Multiply, tokens.Division, tokens.FloorDivision, tokens.Modulo, tokens.Power}

func (r *rewriter) refuse(k int, why string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %s", r.toks[k].Line, why)
	}
}

// holds compares as Python does.
func holds(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	operator, y := args.Args[0].String(), args.Args[1]
	switch operator {
	case "==", "!=":
		return exec.AsValue(equal(x, y) == (operator == "=="))
	case "in", "not in":
		in, err := contains(y, x)
		if err != nil {
			return refused(e, err)
		}
		return exec.AsValue(in == (operator == "in"))
	}
	order, comparable := compare(x, y, true)
	if !comparable {
		return refused(e, fmt.Errorf("the chat template compares %.100q and %.100q: two numbers or texts are needed", x.String(), y.String()))
	}
	return exec.AsValue(map[string]bool{"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator])
}

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

func values(x *exec.Value) []*exec.Value {
	var out []*exec.Value
	for _, v := range elements(x) {
		out = append(out, exec.ToValue(v))
	}
	return out
}
