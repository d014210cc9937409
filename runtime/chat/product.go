package chat

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// What products and powers may be, which gonja does not bound.
const (
	maxRepeated = 1 << 20 // bytes of a text times a number
	maxPower    = 1 << 53
)

// products rewrites expressions without conditions: "a * b" becomes "(a)|times(b)",
// and so with % and **.
func (r *rewriter) products(i, j int) string {
	var b strings.Builder
	at, begin := r.end(i-1), i
	for k := i; k < j; k = r.next(k, j) {
		switch {
		case k > i && r.adjacent(k):
			b.WriteString(r.product(at, begin, k))
			at, begin = r.toks[k].Pos, k
		case r.separates(k, i):
			b.WriteString(r.product(at, begin, k) + r.toks[k].Val)
			at, begin = r.end(k), k+1
		}
	}
	return b.String() + r.product(at, begin, j)
}

// product rewrites the tokens [i,j) of one product, whose text begins at a place; power those of a factor.
func (r *rewriter) product(at, i, j int) string {
	return r.fold(at, i, j, r.power, tokens.Multiply, tokens.Division, tokens.FloorDivision, tokens.Modulo)
}

func (r *rewriter) power(at, i, j int) string { return r.fold(at, i, j, r.groups, tokens.Power) }

// fold rewrites operands between operators of a kind, the first two first.
func (r *rewriter) fold(at, i, j int, operand func(at, i, j int) string, operators ...tokens.Type) string {
	out, left, begin := "", (*tokens.Token)(nil), i
	join := func(k int) {
		x := operand(at, begin, k)
		name := map[tokens.Type]string{tokens.Multiply: "times", tokens.Power: "power", tokens.Modulo: "modulo"}
		switch {
		case left == nil:
			out = x
		case name[left.Type] == "" || strings.TrimSpace(out) == "" || strings.TrimSpace(x) == "":
			out += left.Val + x
		case left.Type == tokens.Modulo && strings.HasPrefix(strings.TrimSpace(x), "("):
			out = " (" + out + ")|modulo_of(" + x + ") "
		default:
			out = " (" + out + ")|" + name[left.Type] + "(" + x + ") "
		}
	}
	for k := i; k < j; k = r.next(k, j) {
		if slices.Contains(operators, r.toks[k].Type) {
			join(k)
			at, left, begin = r.end(k), r.toks[k], k+1
		}
	}
	join(j)
	return out
}

// separates reports whether token k of an expression that begins at i is no part of a product.
func (r *rewriter) separates(k, i int) bool {
	switch r.toks[k].Type {
	case tokens.Name, tokens.String, tokens.Integer, tokens.Float, tokens.Dot, tokens.Pipe,
		tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace, tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace,
		tokens.Multiply, tokens.Division, tokens.FloorDivision, tokens.Modulo, tokens.Power:
		return false
	case tokens.Addition, tokens.Subtraction:
		return k > i && r.ends(k-1) // else it is a sign
	}
	return true
}

// adjacent reports whether token k begins an operand right behind another, as words of statements and tests do.
func (r *rewriter) adjacent(k int) bool {
	switch r.toks[k].Type {
	case tokens.Name, tokens.String, tokens.Integer, tokens.Float, tokens.LeftBrace:
		return r.ends(k - 1)
	}
	return false
}

// ends reports whether token k may end an operand.
func (r *rewriter) ends(k int) bool {
	switch r.toks[k].Type {
	case tokens.Name, tokens.String, tokens.Integer, tokens.Float, tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
		return true
	}
	return false
}

// times is gonja's product, bounded.
func times(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	y := args.First()
	switch {
	case x.IsFloat() || y.IsFloat():
		return exec.AsValue(x.Float() * y.Float())
	case !x.IsString():
		return exec.AsValue(x.Integer() * y.Integer())
	}
	text, n := x.String(), y.Integer()
	if n > 0 && len(text) > maxRepeated/n {
		return refused(e, fmt.Errorf("the chat template makes a text of %d bytes times %d is more than %d bytes", len(text), n, maxRepeated))
	}
	return exec.AsValue(strings.Repeat(text, n))
}

// power is gonja's, bounded; whole numbers stay whole.
func power(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	y := args.First()
	z := math.Pow(x.Float(), y.Float())
	if math.Abs(z) > maxPower {
		return refused(e, fmt.Errorf("the chat template makes a power of more than %d", maxPower))
	}
	if x.IsInteger() && y.IsInteger() && y.Integer() >= 0 {
		return exec.AsValue(int(z))
	}
	return exec.AsValue(z)
}

// refused ends the rendering: gonja's lists would hold the error as a value.
func refused(e *exec.Evaluator, err error) *exec.Value {
	if g, ok := e.Environment.Context.Get(guardKey); ok {
		g.(*guard).stop(err)
	}
	return exec.AsValue(err)
}
