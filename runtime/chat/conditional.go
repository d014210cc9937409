package chat

import (
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// A rewriter writes conditional expressions, which gonja knows at the end of a
// statement alone, as ones that it knows: "a if c else b" becomes
// "(((c) and [a] or [b])|first)", of which a or b is evaluated, as before.
type rewriter struct {
	text string
	toks []*tokens.Token
	out  strings.Builder
	done int // bytes of text that are in out
}

// rewrite returns a spaced template without conditional expressions, and without operators,
// indexes and literals that gonja has otherwise.
func rewrite(text string, c *config.Config) string {
	r := &rewriter{text: text}
	for s := tokens.LexAll(text, c); !s.End(); {
		r.toks = append(r.toks, s.Next())
	}
	for i, t := range r.toks {
		var end int
		switch t.Type {
		case tokens.VariableBegin:
			end = r.until(i, tokens.VariableEnd)
			r.replace(i+1, end, true)
		case tokens.BlockBegin:
			end = r.until(i, tokens.BlockEnd)
			r.replace(i+2, end, i+1 < end && r.toks[i+1].Val == "set")
		}
	}
	r.out.WriteString(text[r.done:])
	return r.out.String()
}

// until returns the next token of a kind, or the end.
func (r *rewriter) until(i int, kind tokens.Type) int {
	n := slices.IndexFunc(r.toks[i:], func(t *tokens.Token) bool { return t.Type == kind })
	if n < 0 {
		return len(r.toks)
	}
	return i + n
}

// replace writes the text before the expression of tokens [i,j), and that. Outside
// brackets a statement may have an "if" of its own.
func (r *rewriter) replace(i, j int, outside bool) {
	if i >= j || j >= len(r.toks) {
		return
	}
	from, to := r.end(i-1), r.toks[j].Pos
	r.out.WriteString(r.text[r.done:from])
	if outside {
		r.out.WriteString(r.list(i, j))
	} else {
		r.out.WriteString(r.products(i, j))
	}
	r.done = to
}

// end is where token i, which is not the last if it is a string, ends.
func (r *rewriter) end(i int) int {
	t := r.toks[i]
	if t.Type == tokens.String { // whose Val is without quotes and escapes
		return t.Pos + len(strings.TrimRight(r.text[t.Pos:r.toks[i+1].Pos], " \t\n"))
	}
	return t.Pos + len(t.Val)
}

// list rewrites expressions that commas, colons and equals signs separate.
func (r *rewriter) list(i, j int) string {
	var b strings.Builder
	begin := i
	for k := i; k < j; k = r.next(k, j) {
		switch r.toks[k].Type {
		case tokens.Comma, tokens.Colon, tokens.Assign:
			b.WriteString(r.choice(begin, k) + r.toks[k].Val)
			begin = k + 1
		}
	}
	b.WriteString(r.choice(begin, j))
	return b.String()
}

// choice rewrites an expression that may be conditional.
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

// groups rewrites literals and what stands in brackets of tokens [i,j), whose text begins
// at a place; "a[b]" and "a.0" become calls of item, where gonja would count otherwise.
func (r *rewriter) groups(at, i, j int) string {
	out, value, filtered := "", 0, false // where the value begins that brackets may be of
	for k, after := i, i; k < j; k = after {
		begins := r.begins(k, i)
		after = r.next(k, j)
		if begins {
			out += r.text[at:r.toks[k].Pos]
			at, value, filtered = r.toks[k].Pos, len(out), false
		}
		filtered = filtered || r.toks[k].Type == tokens.Pipe
		literal, end := r.literal(k, j)
		switch {
		case begins && end > k:
			out += literal
			at, after = r.end(end-1), end
		case !begins && !filtered && r.dotted(k, j):
			after = k + 2
			out = out[:value] + itemName + "(" + out[value:] + r.text[at:r.toks[k].Pos] + "," + r.toks[k+1].Val + ")"
			at = r.end(k + 1)
		case after > k+1 && !begins && !filtered && r.indexed(k, after):
			out = out[:value] + itemName + "(" + out[value:] + r.text[at:r.toks[k].Pos] + "," + r.list(k+1, after-1) + ")"
			at = r.end(after - 1)
		case after > k+1:
			out += r.text[at:r.end(k)] + r.list(k+1, after-1)
			at = r.toks[after-1].Pos
		}
	}
	return out + r.text[at:r.toks[j].Pos]
}

// next is the token after i, or, of those up to j, the one after the bracket that
// closes what i opens.
func (r *rewriter) next(i, j int) int {
	open := 0
	for k := i; k < j; k++ {
		switch r.toks[k].Type {
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			open++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			open--
		}
		if open <= 0 {
			return k + 1
		}
	}
	return i + 1
}
