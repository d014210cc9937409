package chat

import (
	"fmt"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// maxRange bounds the numbers of one range.
const maxRange = 1 << 16

// environment is gonja's with what transformers adds, or does otherwise.
func environment() *exec.Environment {
	globals := exec.EmptyContext().Update(builtins.GlobalFunctions)
	for _, name := range []string{"lipsum", "cycler", "_", "gettext", "ngettext"} {
		globals.Set(name, nil)
	}
	globals.Set("strftime_now", strftimeNow)
	globals.Set("range", numbers)
	globals.Set("none", none)
	globals.Set("dict", dict)
	globals.Set(dictName, makeDict)
	globals.Set(itemName, item)
	globals.Set(listName, makeList)
	globals.Set(tupleName, makeTuple)
	globals.Set(methodName, method)
	methods := builtins.Methods
	methods.Str, methods.Dict, methods.List = stringMethods(), dictMethods(), exec.NewMethodSet(map[string]exec.Method[[]any]{})
	return &exec.Environment{Context: globals, Filters: filters(), Tests: tests(), ControlStructures: statements(), Methods: methods}
}

func numbers(args *exec.VarArgs) ([]int, error) {
	start, step, v := 0, 1, args.Args
	if len(v) < 1 || len(v) > 3 || len(args.KwArgs) > 0 {
		return nil, fmt.Errorf("range takes 1 to 3 numbers, got %d", len(v))
	}
	stop := v[0].Integer()
	if len(v) > 1 {
		start, stop = stop, v[1].Integer()
	}
	if len(v) > 2 {
		step = v[2].Integer()
	}
	var out []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if out = append(out, i); len(out) > maxRange {
			return nil, fmt.Errorf("range of more than %d numbers", maxRange)
		}
	}
	return out, nil
}

// strftimeNow formats the time now by the directives of C that templates use.
func strftimeNow(args *exec.VarArgs) (string, error) {
	return strftime(time.Now(), args.First().String()), nil
}

func strftime(t time.Time, format string) string {
	var pairs []string
	for c, layout := range map[string]string{
		"d": "02", "m": "01", "Y": "2006", "y": "06", "H": "15", "M": "04", "S": "05",
		"B": "January", "b": "Jan", "A": "Monday", "a": "Mon", "I": "03", "p": "PM", "j": "002",
	} {
		pairs = append(pairs, "%"+c, t.Format(layout))
	}
	return strings.NewReplacer(append(pairs, "%%", "%")...).Replace(format)
}

// A block is {% generation %}, which marks what the assistant says.
type block struct {
	at   *tokens.Token
	body *nodes.Wrapper
}

func generation(p, _ *parser.Parser) (nodes.ControlStructure, error) {
	b := &block{at: p.Current()}
	var err error
	b.body, _, err = p.WrapUntil("endgeneration")
	return b, err
}

func (b *block) Position() *tokens.Token { return b.at }

func (b *block) String() string { return "generation" }

func (b *block) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	return r.ExecuteWrapper(b.body)
}
