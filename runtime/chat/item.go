package chat

import (
	"errors"
	"slices"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// indexed reports whether the bracket of tokens k to after-1 holds an index that may be a
// number, which gonja counts otherwise: neither a text alone nor a slice.
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

// dotted reports whether tokens k and k+1 of those up to j are an index behind a dot.
func (r *rewriter) dotted(k, j int) bool {
	return k+1 < j && r.toks[k].Type == tokens.Dot && r.toks[k+1].Type == tokens.Integer
}

// calls reports whether a method is called at token k of those up to j.
func (r *rewriter) calls(k, j int) bool {
	return k+2 < j && r.toks[k].Type == tokens.Dot && r.toks[k+1].Type == tokens.Name && r.toks[k+2].Type == tokens.LeftParenthesis && r.next(k+2, j) > k+3
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

// itemName is the name of item in a rewritten template.
const itemName = "__item__"

// item is x[i] of Jinja: a negative index counts from the end, and nothing is there beyond an end.
func item(args *exec.VarArgs) (*exec.Value, error) {
	if len(args.Args) != 2 {
		return nil, errors.New("an index needs a value and a place")
	}
	x, i := args.Args[0], args.Args[1]
	if i.IsString() {
		v, ok := x.GetItem(i.String())
		if !ok && !v.IsError() {
			v, _ = x.GetAttribute(i.String())
		}
		return v, nil
	}
	n := i.Integer()
	switch {
	case x.IsDict():
		v, _ := lookup(x, i)
		return v, nil
	case !i.IsInteger():
		return nil, errors.New("an index is neither a text nor a whole number")
	case !x.IsString() && !x.IsList() && !isNone(x):
		v, _ := x.GetItem(n) // which is an error
		return v, nil
	}
	if n < 0 {
		n += x.Len()
	}
	if n < 0 || n >= x.Len() {
		return exec.AsValue(nil), nil
	}
	return x.Index(n), nil
}
