package chat

import "github.com/nikolalohinski/gonja/v2/tokens"

// choice rewrites an expression that may be conditional, which gonja knows at the end of a statement alone:
// "a if c else b" becomes "(((c) and [a] or [b])|first)", of which a or b is evaluated, as before.
func (r *rewriter) choice(i, j int) string {
	yes := r.word("if", i, j)
	if yes == j {
		return r.negations(i, j)
	}
	no, other := r.word("else", yes, j), "nil" // which is undefined
	if no < j {
		other = r.choice(no+1, j)
	}
	return " (((" + r.products(yes+1, no) + ") and [" + r.negations(i, yes) + "] or [" + other + "])|first) "
}

// word finds a word outside brackets, or j.
func (r *rewriter) word(w string, i, j int) int {
	for k := i; k < j; k = r.next(k, j) {
		if t := r.toks[k]; t.Type == tokens.Name && t.Val == w {
			return k
		}
	}
	return j
}
