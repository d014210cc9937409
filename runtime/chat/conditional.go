package chat

import (
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

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

// parts rewrites those of a list or a tuple, as arguments, and so the keys and values of a dict.
func (r *rewriter) parts(i, j int, dict bool) string {
	if j > i && r.toks[j-1].Type == tokens.Comma {
		j--
	}
	var out []string
	for begin, k := i, i; begin < j; k = r.next(k, j) {
		if k < j && r.toks[k].Type != tokens.Comma && r.toks[k].Type != tokens.Colon {
			continue
		}
		if (k < j && r.toks[k].Type == tokens.Colon) != (dict && len(out)%2 == 0) {
			r.refuse(k, "a colon stands where a comma should, or there is none")
		}
		out = append(out, r.choice(begin, k))
		begin = k + 1
	}
	return strings.Join(out, ",")
}

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
		if k > i+1 && r.toks[k-2].Val == "loop" && r.toks[k-1].Type == tokens.Dot && strings.HasPrefix(r.toks[k].Val, "depth") {
			r.refuse(k, "loop."+r.toks[k].Val+" is not known") // of gonja's loops within others it is another
		}
		literal, end := r.literal(k, j)
		switch {
		case begins && end > k:
			out += literal
			at, after = r.end(end-1), end
		case !begins && !filtered && r.calls(k, j):
			after = r.next(k+2, j)
			out = out[:value] + methodName + "(" + out[value:] + r.text[at:r.toks[k].Pos] + ",'" + r.toks[k+1].Val + "'"
			if after > k+4 {
				out += ","
			}
			out += r.list(k+3, after-1) + ")"
			at = r.end(after - 1)
		case !begins && !filtered && r.dotted(k, j):
			after = k + 2
			out = out[:value] + itemName + "(" + out[value:] + r.text[at:r.toks[k].Pos] + "," + r.toks[k+1].Val + ")"
			at = r.end(k + 1)
		case after > k+1 && !begins && !filtered && r.indexed(k, after):
			out = out[:value] + itemName + "(" + out[value:] + r.text[at:r.toks[k].Pos] + "," + r.list(k+1, after-1) + ")"
			at = r.end(after - 1)
		case after > k+1 && begins && r.maker(k, after) != "":
			out += r.maker(k, after) + "(" + r.parts(k+1, after-1, r.toks[k].Type == tokens.LeftBrace) + ")"
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
