package chat

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// tooLong says that a text would be longer than maxRepeated.
func tooLong(by string) error {
	return fmt.Errorf("the chat template makes a text of more than %d bytes by %s", maxRepeated, by)
}

// center is Jinja's, bounded.
func center(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	width, text := 80, in.String()
	err := args.Take(exec.KeywordArgument("width", exec.AsValue(80), exec.IntArgument(&width)))
	switch {
	case err != nil:
		return exec.AsValue(err)
	case width > maxRepeated || len(text) > maxRepeated-max(0, width):
		return refused(e, tooLong("center"))
	}
	spaces := max(0, width-utf8.RuneCountInString(text))
	left := spaces/2 + spaces&width&1
	return exec.AsValue(strings.Repeat(" ", left) + text + strings.Repeat(" ", spaces-left))
}

// lineEnds are what Python takes for the ends of lines.
var lineEnds = regexp.MustCompile("\r\n|[\r\v\f\x1c-\x1e\u0085\u2028\u2029]")

// indent is gonja's, bounded.
func indent(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	text, width := lineEnds.ReplaceAllString(in.String(), "\n"), 4
	if v := argument(args, 0, "width"); v != nil && v.IsString() {
		width = len(v.String())
	} else if v != nil {
		width = v.Integer()
	}
	if lines := strings.Count(text, "\n") + 1; len(text) > maxRepeated || width > (maxRepeated-len(text))/lines {
		return refused(e, tooLong("indent"))
	}
	filter, _ := builtins.Filters.Get("indent")
	return filter(e, exec.AsValue(text), args)
}

// join is Jinja's, bounded.
func join(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	if in = attributes(e, in, argument(args, 1, "attribute")); in.IsError() {
		return in
	}
	between := ""
	if d := argument(args, 0, "d"); d != nil {
		between = d.String()
	}
	var b strings.Builder
	for i, v := range elements(in) {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(shown(exec.ToValue(v)))
		if b.Len() > maxRepeated {
			return refused(e, tooLong("join"))
		}
	}
	return exec.AsValue(b.String())
}

// joined is gonja's method join, bounded in what it puts between.
func joined(s string, self *exec.Value, args *exec.VarArgs) (any, error) {
	if list := argument(args, 0, "iterable"); list != nil && list.Len() > maxRepeated/max(1, len(s)) {
		return nil, tooLong("join")
	}
	method, _ := builtins.Methods.Str.Get("join")
	return method(s, self, args)
}

// replaced is the filter of the method replace, of what is printed.
func replaced(_ *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	texts := &exec.VarArgs{KwArgs: map[string]*exec.Value{"count": argument(args, 2, "count")}}
	for i, name := range []string{"old", "new"} {
		if v := argument(args, i, name); v != nil {
			texts.Args = append(texts.Args, exec.AsValue(shown(v)))
		}
	}
	text, err := replace(shown(in), in, texts)
	if err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(text)
}
