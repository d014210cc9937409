package chat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// modulo is Python's of numbers, and Python's "..." % x of a text with one value or a tuple of them.
func modulo(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	y := args.First()
	if several, is := y.Interface().(tuple); is && x.IsString() {
		return formatted(e, x.String(), several)
	}
	if x.IsString() {
		return formatted(e, x.String(), []*exec.Value{y})
	}
	_, rest := divmod(e, x, y)
	return rest
}

// percent is the filter format.
func percent(e *exec.Evaluator, x *exec.Value, args *exec.VarArgs) *exec.Value {
	if len(args.KwArgs) > 0 {
		return exec.AsValue(errors.New("values by their names are not known"))
	}
	return formatted(e, x.String(), args.Args)
}

// formatted puts values where a text has %s and %d.
func formatted(e *exec.Evaluator, format string, values []*exec.Value) *exec.Value {
	var b strings.Builder
	used := 0
	for rest := format; rest != ""; {
		before, after, found := strings.Cut(rest, "%")
		b.WriteString(before)
		if !found {
			break
		}
		verb := (after + " ")[:1]
		rest = strings.TrimPrefix(after, verb)
		switch {
		case verb == "%":
			b.WriteByte('%')
			continue
		case verb != "s" && verb != "d":
			return refused(e, fmt.Errorf("the chat template has %.100q %% values: only %%s, %%d and %%%% are known", format))
		case used == len(values):
			return refused(e, fmt.Errorf("the chat template has %.100q %% values: more places than %d values", format, len(values)))
		}
		v := values[used]
		used++
		switch {
		case verb == "s":
			b.WriteString(shown(v))
		case number(v) != nil:
			b.WriteString(strconv.Itoa(number(v).Integer()))
		default:
			return refused(e, fmt.Errorf("the chat template has %.100q %% values: %%d needs a number", format))
		}
		if b.Len() > maxRepeated {
			return refused(e, tooLong("%"))
		}
	}
	if used < len(values) {
		return refused(e, fmt.Errorf("the chat template has %.100q %% values: %d places for %d values", format, used, len(values)))
	}
	return exec.AsValue(b.String())
}
