package chat

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// filters are those that rewritten templates call, those that Jinja has otherwise than
// gonja, and gonja's that answer as Jinja's do. There are no others.
func filters() *exec.FilterSet {
	set := map[string]exec.FilterFunction{
		inner + "plus":    plus,
		inner + "minus":   minus,
		inner + "times":   times,
		inner + "divided": divided,
		inner + "floored": floored,
		inner + "modulo":  modulo,
		inner + "power":   power,
		inner + "joint":   joint,
		inner + "holds":   holds,
		inner + "negated": negated,
		loopedName:        looped,
		pairsName:         loopedPairs,

		"abs":      absolute,
		"center":   center,
		"dictsort": dictSort,
		"format":   percent,
		"indent":   indent,
		"items":    items,
		"join":     taking(join, "d", "attribute"),
		"replace":  taking(replaced, "old", "new", "count"),
		"reverse":  taking(reverse),
		"round":    taking(round, "precision", "method"),
		"string":   taking(asText),
		"sum":      taking(sum, "attribute", "start"),
		"title":    taking(title),
		"tojson":   taking(toJSON, "ensure_ascii", "indent", "separators", "sort_keys"),
		"trim":     taking(trim, "chars"),
	}
	for _, of := range []struct {
		wrap  func(exec.FilterFunction) exec.FilterFunction
		names []string
	}{
		{unchanged, []string{"default", "d", "safe"}},
		{ofText, []string{"capitalize", "lower", "upper"}},
		{lettered, []string{"count", "length", "list", "sort", "unique"}},
		{mapped, []string{"map"}},
		{chosen(0, hasTest), []string{"reject", "select"}},
		{chosen(1, hasTest), []string{"rejectattr", "selectattr"}},
		{ofSome, []string{"first", "last", "max", "min"}},
		{few, []string{"batch", "slice"}},
		{counted, []string{"int", "float"}},
	} {
		for _, name := range of.names {
			filter, _ := builtins.Filters.Get(name)
			set[name] = of.wrap(filter)
		}
	}
	for name, filter := range set {
		set[name] = func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
			if in.IsError() { // which gonja has filters see
				return in
			}
			out := filter(e, in, args)
			if out.IsError() {
				return refused(e, fmt.Errorf("the chat template calls %s: %w", name, out))
			}
			return out
		}
	}
	return exec.NewFilterSet(set)
}

var word = regexp.MustCompile(`[^-\s({\[<]+`)

// title begins what stands behind spaces, hyphens and brackets with a great letter.
func title(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	return exec.AsValue(word.ReplaceAllStringFunc(shown(in), func(s string) string {
		_, n := utf8.DecodeRuneInString(s)
		return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
	}))
}

// trim is the filter of the method strip.
func trim(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	text, err := strip(strings.TrimFunc)(shown(in), in, args)
	if err != nil {
		return exec.AsValue(err)
	}
	return exec.AsValue(text)
}

func unchanged(filter exec.FilterFunction) exec.FilterFunction { return filter }

// lettered is a filter of a list, or of a text by its characters.
func lettered(filter exec.FilterFunction) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		return filter(e, looped(e, in, nil), args)
	}
}

// ofText is a filter of what is printed.
func ofText(filter exec.FilterFunction) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		return filter(e, exec.AsValue(shown(in)), args)
	}
}

// ofSome is a filter of which nothing is undefined, where gonja has an empty text.
func ofSome(filter exec.FilterFunction) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		if in.IsIterable() && in.Len() == 0 {
			return exec.AsValue(nil)
		}
		return filter(e, looped(e, in, nil), args)
	}
}

// few is a filter whose first argument may be no more than maxRange.
func few(filter exec.FilterFunction) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		for _, v := range append(slices.Collect(maps.Values(args.KwArgs)), args.Args...) {
			if v.IsInteger() && v.Integer() > maxRange {
				return refused(e, fmt.Errorf("the chat template asks batch or slice for %d, more than %d", v.Integer(), maxRange))
			}
		}
		return filter(e, looped(e, in, nil), args)
	}
}

// counted is a filter of a number, as which true is 1, or of a text of one.
func counted(filter exec.FilterFunction) exec.FilterFunction {
	return func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
		if n := number(in); n != nil {
			in = n
		} else if in.IsString() {
			in = exec.AsValue(strings.TrimFunc(in.String(), isSpace))
		}
		return filter(e, in, args)
	}
}

// attributes are an attribute of each element, or the elements if it is nil.
func attributes(e *exec.Evaluator, in, attribute *exec.Value) *exec.Value {
	if attribute == nil {
		return looped(e, in, nil)
	}
	return e.ExecuteFilterByName("map", in, &exec.VarArgs{KwArgs: map[string]*exec.Value{"attribute": attribute}})
}
