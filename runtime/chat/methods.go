package chat

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// stringMethods are Python's that templates use. Some are not gonja's, which has
// other defaults and counts otherwise.
func stringMethods() *exec.MethodSet[string] {
	set := map[string]exec.Method[string]{
		"strip": given(strip(strings.TrimFunc), ""), "lstrip": given(strip(strings.TrimLeftFunc), ""), "rstrip": given(strip(strings.TrimRightFunc), ""),
		"split": given(split, "sep", "maxsplit"), "rsplit": given(rsplit, "sep", "maxsplit"), "replace": given(replace, "", "", ""), "count": given(count, ""),
		"find": given(find(strings.Index), ""), "rfind": given(find(strings.LastIndex), ""), "format": format, "join": joined,
		"startswith": given(affixed(strings.HasPrefix), ""), "endswith": given(affixed(strings.HasSuffix), ""),
	}
	for _, name := range []string{"capitalize", "isalnum", "isalpha", "isdigit", "islower", "isspace", "isupper",
		"lower", "removeprefix", "removesuffix", "title", "upper"} {
		if m, ok := builtins.Methods.Str.Get(name); ok {
			set[name] = m
		}
	}
	return exec.NewMethodSet(set)
}

// strip removes white space, or the characters given.
func strip(trim func(s string, is func(rune) bool) string) exec.Method[string] {
	return func(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		is := isSpace
		if chars := argument(args, 0, "chars"); chars != nil && !chars.IsString() {
			return nil, errors.New("what is stripped is no text")
		} else if chars != nil {
			is = func(r rune) bool { return strings.ContainsRune(chars.String(), r) }
		}
		return trim(s, is), nil
	}
}

// split cuts at white space or at a separator, at most so often.
func split(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	sep, most := argument(args, 0, "sep"), splits(args)
	if sep == nil {
		return fields(s, most), nil
	}
	if !sep.IsString() || sep.String() == "" {
		return nil, errors.New("split needs a separator")
	}
	if most < 0 {
		return strings.Split(s, sep.String()), nil
	}
	return strings.SplitN(s, sep.String(), most+1), nil
}

// rsplit cuts at a separator, from the end.
func rsplit(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	sep, most := argument(args, 0, "sep"), splits(args)
	if sep == nil && most < 0 {
		return fields(s, most), nil
	}
	if sep == nil || !sep.IsString() || sep.String() == "" {
		return nil, errors.New("rsplit needs a separator")
	}
	parts := strings.Split(s, sep.String())
	if n := len(parts) - most; most >= 0 && n > 1 {
		parts = append([]string{strings.Join(parts[:n], sep.String())}, parts[n:]...)
	}
	return parts, nil
}

func count(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	sub := argument(args, 0, "sub")
	if sub == nil || !sub.IsString() {
		return nil, errors.New("count takes one text")
	}
	return strings.Count(s, sub.String()), nil
}

// find finds a text: its first character's place, or -1.
func find(index func(s, sub string) int) exec.Method[string] {
	return func(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		if !args.First().IsString() {
			return nil, errors.New("find and rfind take one text")
		}
		i := index(s, args.First().String())
		return utf8.RuneCountInString(s[:max(0, i)]) + min(0, i), nil
	}
}

// affixed reports whether a text, or one of a tuple, stands at an end.
func affixed(has func(s, affix string) bool) exec.Method[string] {
	return func(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		affixes := []*exec.Value{args.First()}
		if several, is := args.First().Interface().(tuple); is {
			affixes = several
		}
		for _, a := range affixes {
			if !a.IsString() {
				return nil, errors.New("startswith and endswith take a text, or a tuple of texts")
			}
			if has(s, a.String()) {
				return true, nil
			}
		}
		return false, nil
	}
}

// replace replaces a text by another, everywhere or so often.
func replace(s string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	before, after, most := argument(args, 0, "old"), argument(args, 1, "new"), -1
	if before == nil || after == nil || !before.IsString() || !after.IsString() {
		return nil, errors.New("replace needs two texts")
	}
	if n := argument(args, 2, "count"); n != nil && !n.IsInteger() {
		return nil, errors.New("replace needs a whole number of how often")
	} else if n != nil {
		most = n.Integer()
	}
	times := strings.Count(s, before.String())
	if most >= 0 {
		times = min(times, most)
	}
	if times > 0 && len(after.String()) > (maxRepeated+len(s))/times {
		return nil, tooLong("replace")
	}
	return strings.Replace(s, before.String(), after.String(), most), nil
}

// splits is how often to split at most; -1: everywhere.
func splits(args *exec.VarArgs) int {
	if n := argument(args, 1, "maxsplit"); n != nil {
		return n.Integer()
	}
	return -1
}

// fields splits at white space.
func fields(s string, most int) []string {
	out := []string{}
	for {
		s = strings.TrimLeftFunc(s, isSpace)
		end := strings.IndexFunc(s, isSpace)
		if s == "" {
			return out
		}
		if end < 0 || len(out) == most {
			return append(out, s)
		}
		out, s = append(out, s[:end]), s[end:]
	}
}

// argument returns an argument by its place or name; nil if it is left out or none.
func argument(args *exec.VarArgs, i int, name string) *exec.Value {
	v := args.KwArgs[name]
	if i < len(args.Args) {
		v = args.Args[i]
	}
	if v == nil || v.IsNil() || isNone(v) {
		return nil
	}
	return v
}
