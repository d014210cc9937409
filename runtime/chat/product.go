package chat

import (
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

// products rewrites expressions without conditions: "a * b" becomes "(a)|__times(b)",
// and so with +, -, /, //, % and **.
func (r *rewriter) products(i, j int) string {
	var b strings.Builder
	at, begin := r.end(i-1), i
	for k := i; k < j; k = r.next(k, j) {
		switch {
		case k > i && r.adjacent(k):
			b.WriteString(r.comparison(at, begin, k))
			at, begin = r.toks[k].Pos, k
		case r.separates(k):
			b.WriteString(r.comparison(at, begin, k) + r.toks[k].Val)
			at, begin = r.end(k), k+1
		}
	}
	return b.String() + r.comparison(at, begin, j)
}

// sum rewrites the tokens [i,j) of one sum, whose text begins at a place; the others
// those of what they are named for, which binds closer.
func (r *rewriter) sum(at, i, j int) string {
	return r.fold(at, i, j, r.joint, tokens.Addition, tokens.Subtraction)
}

func (r *rewriter) joint(at, i, j int) string { return r.fold(at, i, j, r.product, tokens.Tilde) }

func (r *rewriter) product(at, i, j int) string {
	return r.fold(at, i, j, r.power, tokens.Multiply, tokens.Division, tokens.FloorDivision, tokens.Modulo)
}

func (r *rewriter) power(at, i, j int) string { return r.fold(at, i, j, r.groups, tokens.Power) }

// arithmetic are the operators that filters stand for.
var arithmetic = map[tokens.Type]string{
	tokens.Addition: "plus", tokens.Subtraction: "minus", tokens.Tilde: "joint", tokens.Multiply: "times",
	tokens.Division: "divided", tokens.FloorDivision: "floored", tokens.Modulo: "modulo", tokens.Power: "power",
}

// fold rewrites operands between operators of a kind, the first two first.
func (r *rewriter) fold(at, i, j int, operand func(at, i, j int) string, operators ...tokens.Type) string {
	out, left, begin := "", -1, i
	join := func(k int) {
		x := operand(at, begin, k)
		if left < 0 {
			out = x
			return
		}
		if strings.TrimSpace(x) == "" {
			r.refuse(left, lacking) // else gonja counts with what is undefined
		}
		out = " (" + out + ")|" + inner + arithmetic[r.toks[left].Type] + "(" + x + ") "
	}
	for k := i; k < j; k = r.next(k, j) {
		if slices.Contains(operators, r.toks[k].Type) && k > begin && r.ends(k-1) { // else it is a sign
			join(k)
			at, left, begin = r.end(k), k, k+1
		}
	}
	join(j)
	return out
}

// separates reports whether token k is no part of a comparison.
func (r *rewriter) separates(k int) bool {
	switch r.toks[k].Type {
	case tokens.Name, tokens.String, tokens.Integer, tokens.Float, tokens.Dot, tokens.Pipe,
		tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace, tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace,
		tokens.Addition, tokens.Subtraction, tokens.Tilde,
		tokens.Multiply, tokens.Division, tokens.FloorDivision, tokens.Modulo, tokens.Power,
		tokens.Is, tokens.In, tokens.Equals, tokens.Ne, tokens.LowerThan, tokens.LowerThanOrEqual, tokens.GreaterThan, tokens.GreaterThanOrEqual:
		return false
	case tokens.Not: // else it is of not in, or of is not
		return r.toks[k-1].Type != tokens.Is && r.toks[k+1].Type != tokens.In
	}
	return true
}

// adjacent reports whether token k begins an operand right behind another, as words of statements and tests do;
// texts next to each other are one.
func (r *rewriter) adjacent(k int) bool {
	switch {
	case r.named(k) || k > 1 && r.named(k-1):
		return r.keyword(k) // else it is of a test
	case r.keyword(k - 1):
		return true
	}
	switch r.toks[k].Type {
	case tokens.Name, tokens.String, tokens.Integer, tokens.Float, tokens.LeftBrace:
		return r.ends(k-1) && (r.toks[k].Type != tokens.String || r.toks[k-1].Type != tokens.String)
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
