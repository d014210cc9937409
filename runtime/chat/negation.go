package chat

import (
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// negations rewrites an expression whose value may be printed: "not a" becomes "(a)|__negated",
// as gonja makes numbers of numbers.
func (r *rewriter) negations(i, j int) string {
	for _, junction := range []tokens.Type{tokens.Or, tokens.And} {
		for k := i; k < j; k = r.next(k, j) {
			if r.toks[k].Type == junction {
				return r.negations(i, k) + r.toks[k].Val + r.negations(k+1, j)
			}
		}
	}
	if i+1 < j && r.toks[i].Type == tokens.Not {
		return " (" + r.negations(i+1, j) + ")|" + inner + "negated "
	}
	return r.products(i, j)
}

func negated(_ *exec.Evaluator, x *exec.Value, _ *exec.VarArgs) *exec.Value {
	return exec.AsValue(!x.IsTrue())
}
