package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// A rewriter writes expressions of a spaced template, of which gonja has many otherwise than Jinja, as calls of
// ours, bracket by bracket.
type rewriter struct {
	text string
	toks []*tokens.Token
	out  strings.Builder
	done int      // bytes of text that are in out
	open []string // statements if and for, and those for that are left early
	err  error
}

// inner begins the names of what a rewritten template calls, which none may say itself.
const inner = "__"

// rewrite returns a spaced template without conditional expressions, and without operators,
// indexes, methods and literals that gonja has otherwise.
func rewrite(text string, c *config.Config) (string, error) {
	r := &rewriter{text: text}
	for s := tokens.LexAll(text, c); !s.End(); {
		r.toks = append(r.toks, s.Next())
	}
	for i, t := range r.toks {
		switch t.Type {
		case tokens.VariableBegin:
			r.replace(i+1, r.until(i, tokens.VariableEnd), r.printed)
		case tokens.BlockBegin:
			if end := r.until(i, tokens.BlockEnd); i+1 < end {
				r.block(i+1, end)
			}
		}
	}
	r.out.WriteString(text[r.done:])
	return r.out.String(), r.err
}

// block rewrites the statement of tokens [i,j). That of set may be conditional; "if" and the "if" of for are their own.
func (r *rewriter) block(i, j int) {
	r.nest(i)
	begin, rewritten := i+1, r.products
	switch r.toks[i].Val {
	case "for":
		begin = r.until(i, tokens.In) + 1
		r.names(i+1, begin)
	case "set":
		rewritten = r.list
		r.names(i+1, i+2)
	case "with":
		r.names(i+1, i+2)
	case "macro":
		r.defaults(begin, j)
	}
	r.replace(begin, j, rewritten)
}

// nest follows which statements are open at the name of one: what else does behind a loop that is
// left early, Python has otherwise.
func (r *rewriter) nest(k int) {
	last := len(r.open) - 1
	switch name := r.toks[k].Val; name {
	case "if", "for":
		r.open = append(r.open, name)
	case "endif", "endfor":
		r.open = r.open[:max(0, last)]
	case "break", "continue":
		for last >= 0 && r.open[last] == "if" {
			last--
		}
		if last >= 0 {
			r.open[last] = name
		}
	case "else":
		if last >= 0 && (r.open[last] == "break" || r.open[last] == "continue") {
			r.refuse(k, "else of a loop with "+r.open[last]+" is not known")
		}
	}
}

// names refuses constants among what tokens [i,j) name.
func (r *rewriter) names(i, j int) {
	for k := i; k < min(j, len(r.toks)); k++ {
		if t := r.toks[k]; t.Type == tokens.Name && slices.Contains([]string{"none", "None", "true", "True", "false", "False"}, t.Val) {
			r.refuse(k, t.Val+" cannot be set")
		}
	}
}

// defaults refuses what a macro of tokens [i,j) gives a parameter by default from another, which gonja looks
// for outside.
func (r *rewriter) defaults(i, j int) {
	var params []string
	deep, given := 0, false
	for k := i + 1; k < j; k++ {
		switch t := r.toks[k]; t.Type {
		case tokens.LeftParenthesis, tokens.LeftBracket, tokens.LeftBrace:
			deep++
		case tokens.RightParenthesis, tokens.RightBracket, tokens.RightBrace:
			deep--
		case tokens.Assign:
			given = true
		case tokens.Comma:
			given = given && deep > 1
		case tokens.Name:
			if given && slices.Contains(params, t.Val) {
				r.refuse(k, "a default that is of another parameter, "+t.Val+", is not known")
			} else if !given {
				r.names(k, k+1)
				params = append(params, t.Val)
			}
		}
	}
}

// until returns the next token of a kind, or the end.
func (r *rewriter) until(i int, kind tokens.Type) int {
	n := slices.IndexFunc(r.toks[i:], func(t *tokens.Token) bool { return t.Type == kind })
	if n < 0 {
		return len(r.toks)
	}
	return i + n
}

// replace writes the text before the expression of tokens [i,j), and that.
func (r *rewriter) replace(i, j int, rewritten func(i, j int) string) {
	if i >= j || j >= len(r.toks) {
		return
	}
	from, to := r.end(i-1), r.toks[j].Pos
	r.out.WriteString(r.text[r.done:from] + rewritten(i, j))
	r.done = to
}

// printed rewrites what is printed, which may be a tuple.
func (r *rewriter) printed(i, j int) string {
	text := r.parts(i, j, false)
	if r.several(i, j) {
		text = tupleName + "(" + text + ")"
	}
	return "(" + text + ")|string "
}

// end is where token i, which is not the last if it is a string, ends.
func (r *rewriter) end(i int) int {
	t := r.toks[i]
	if t.Type == tokens.String { // whose Val is without quotes and escapes
		return t.Pos + len(strings.TrimRight(r.text[t.Pos:r.toks[i+1].Pos], " \t\n"))
	}
	return t.Pos + len(t.Val)
}

// lacking is why an operator that lacks an operand is refused.
const lacking = "an operator lacks an operand"

// refuse keeps why what begins at token k is not known, if it is the first.
func (r *rewriter) refuse(k int, why string) {
	if r.err == nil {
		r.err = fmt.Errorf("line %d: %s", r.toks[k].Line, why)
	}
}
