package chat

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

var places = regexp.MustCompile(`\{\{|\}\}|\{[^{}]*\}|[{}]`)

// format is Python's method of texts, bounded: places are {}, {0} or {name}, with or
// without a short way to print behind a colon.
func format(s string, self *exec.Value, args *exec.VarArgs) (any, error) {
	var err error
	size, next := len(s), 0
	out := places.ReplaceAllStringFunc(s, func(place string) string {
		switch {
		case err != nil || place == "{{" || place == "}}":
			return place[:1]
		case len(place) == 1:
			err = fmt.Errorf("format of %.100q: a bracket stands alone", s)
			return ""
		}
		name, spec, _ := strings.Cut(place[1:len(place)-1], ":")
		if name == "" {
			name, next = strconv.Itoa(next), next+1
		}
		var text string
		if text, err = printed(self, args, name, spec); err != nil {
			err = fmt.Errorf("format of %.100q: place %.100s: %w", s, place, err)
		} else if size += len(text); size > maxRepeated {
			err = tooLong("format")
		}
		return text
	})
	return out, err
}

// printed returns the argument of a name or number as a text.
func printed(self *exec.Value, args *exec.VarArgs, name, spec string) (string, error) {
	v := args.KwArgs[name]
	if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(args.Args) {
		v = args.Args[i]
	}
	switch {
	case v == nil:
		return "", fmt.Errorf("no argument %s", name)
	case spec == "":
		return shown(v), nil
	case len(spec) > 6: // which may be more than a million wide
		return "", errors.New("at most 6 characters may stand behind the colon")
	}
	if n := number(v); n != nil {
		v = n
	}
	method, _ := builtins.Methods.Str.Get("format")
	text, err := method("{:"+spec+"}", self, &exec.VarArgs{Args: []*exec.Value{v}})
	return exec.AsValue(text).String(), err
}
