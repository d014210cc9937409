package chat

import (
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/tokens"
)

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
	why := "a colon stands in a list"
	if dict {
		why = "a dict needs a colon behind each key and a comma behind each value"
	}
	var out []string
	for begin, k := i, i; begin < j; k = r.next(k, j) {
		if k < j && r.toks[k].Type != tokens.Comma && r.toks[k].Type != tokens.Colon {
			continue
		}
		if (k < j && r.toks[k].Type == tokens.Colon) != (dict && len(out)%2 == 0) {
			r.refuse(k, why)
		}
		out = append(out, r.choice(begin, k))
		begin = k + 1
	}
	return strings.Join(out, ",")
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

// begins reports whether token k begins a value, rather than going on with one: i is the first that may.
func (r *rewriter) begins(k, i int) bool {
	switch r.toks[k].Type {
	case tokens.Name, tokens.String, tokens.Integer, tokens.Float:
		return k == i || r.toks[k-1].Type != tokens.Dot && r.toks[k-1].Type != tokens.Pipe
	case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
		return k == i || !r.ends(k-1) || r.keyword(k-1)
	}
	return false
}

// keyword reports whether token k is a name that is none.
func (r *rewriter) keyword(k int) bool {
	return r.toks[k].Type == tokens.Name && slices.Contains([]string{"and", "or", "not", "in", "is", "if", "elif", "else"}, r.toks[k].Val)
}

// calls reports whether a method is called at token k of those up to j.
func (r *rewriter) calls(k, j int) bool {
	return k+2 < j && r.toks[k].Type == tokens.Dot && r.toks[k+1].Type == tokens.Name && r.toks[k+2].Type == tokens.LeftParenthesis && r.next(k+2, j) > k+3
}

// dotted reports whether tokens k and k+1 of those up to j are an index behind a dot.
func (r *rewriter) dotted(k, j int) bool {
	return k+1 < j && r.toks[k].Type == tokens.Dot && r.toks[k+1].Type == tokens.Integer
}

// indexed reports whether the bracket of tokens k to after-1 holds an index that may be a
// number, which gonja counts otherwise: no slice, and no text alone, as gonja's errors say which.
func (r *rewriter) indexed(k, after int) bool {
	if r.toks[k].Type != tokens.LeftBracket || after-1 == k+1 || r.toks[after-1].Type != tokens.RightBracket {
		return false
	}
	if after == k+3 && r.toks[k+1].Type == tokens.String {
		return false
	}
	for i := k + 1; i < after-1; i = r.next(i, after-1) {
		if t := r.toks[i].Type; t == tokens.Colon || t == tokens.Comma {
			return false
		}
	}
	return true
}

// maker is the name of what makes a value of what stands in the brackets of tokens k to after-1, unless they
// are around one expression.
func (r *rewriter) maker(k, after int) string {
	switch t := r.toks[k].Type; {
	case t == tokens.LeftBracket:
		return listName
	case t == tokens.LeftBrace:
		return dictName
	case after == k+2 || r.several(k+1, after-1):
		return tupleName
	}
	return ""
}

// several reports whether commas stand in the tokens [i,j), outside brackets.
func (r *rewriter) several(i, j int) bool {
	for k := i; k < j; k = r.next(k, j) {
		if r.toks[k].Type == tokens.Comma {
			return true
		}
	}
	return false
}
