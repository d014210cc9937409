package chat

import (
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// comparison rewrites tokens [i,j) of one comparison, whose text begins at a place: "a < b" becomes
// "(a)|__holds('<',b)".
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
		r.refuse(sign, lacking) // else gonja compares what is undefined
	}
	return " ((" + left + ")|" + inner + "holds('" + operator + "'," + other + ")) "
}

// compares finds a sign of comparison outside brackets, or j; behind is it is a test.
func (r *rewriter) compares(i, j int) int {
	for k := i; k < j; k = r.next(k, j) {
		switch r.toks[k].Type {
		case tokens.Not:
			if k+1 < j && r.toks[k+1].Type == tokens.In && k > i && !r.named(k) {
				return k
			}
		case tokens.In:
			if !r.named(k) {
				return k
			}
		case tokens.Equals, tokens.Ne, tokens.LowerThan, tokens.LowerThanOrEqual, tokens.GreaterThan, tokens.GreaterThanOrEqual:
			return k
		}
	}
	return j
}

// named reports whether token k is the name of a test: it stands behind is, or is not.
func (r *rewriter) named(k int) bool {
	if r.toks[k-1].Type == tokens.Not {
		k--
	}
	return k > 0 && r.toks[k-1].Type == tokens.Is
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
		if k > is && (t == tokens.Is || t == tokens.Pipe) || k > i && arithmetic[t] != "" && (k > is || r.ends(k-1)) {
			r.refuse(k, "a test beside other operators is not known: it needs brackets")
		}
	}
	name := is + 1
	if name < j && r.toks[name].Type == tokens.Not {
		name++
	}
	if name >= j {
		r.refuse(is, lacking)
		return ""
	}
	if k := name + 1; k < j && r.toks[k].Type == tokens.LeftParenthesis && r.several(k+1, r.next(k, j)-1) {
		r.refuse(k, "a test of several values is not known: a tuple needs brackets of its own")
	}
	return " (" + r.sum(at, i, is) + r.text[r.toks[is].Pos:r.end(name)] + " " + r.sum(r.end(name), name+1, j) + ") "
}

// holds is the test of an operator, which is its name.
func holds(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	name, not := strings.CutPrefix(args.First().String(), "not ")
	test, _ := e.Environment.Tests.Get(name)
	is, err := test.(func(*exec.Evaluator, *exec.Value, *exec.VarArgs) (bool, error))(e, x, &exec.VarArgs{Args: args.Args[1:]})
	if err != nil {
		return refused(e, err)
	}
	return exec.AsValue(is != not)
}
