package chat

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// A tuple prints as Python's.
type tuple []*exec.Value

func (t tuple) String() string { return repr(exec.AsValue(t)) }

// These are the names of what makes lists, tuples and dicts in a rewritten template: errors in those of
// gonja are values, and keys given twice stand twice.
const (
	listName  = inner + "list"
	tupleName = inner + "tuple"
	dictName  = inner + "dict"
)

func makeList(args *exec.VarArgs) exec.ValuesList { return args.Args }

func makeTuple(args *exec.VarArgs) tuple { return args.Args }

func makeDict(args *exec.VarArgs) (*exec.Value, error) {
	d := &exec.Dict{}
	switch n := len(args.Args); {
	case n%2 != 0 || len(args.KwArgs) > 0:
		return nil, errors.New("a dict is of keys and values")
	case n/2 > maxKeys:
		return nil, manyKeys()
	}
	for i := 0; i < len(args.Args); i += 2 {
		put(d, args.Args[i], args.Args[i+1])
	}
	return made(d), nil
}

// maxKeys bounds the keys of a dict, each of which is looked for among those before.
const maxKeys = 1024

func manyKeys() error { return fmt.Errorf("a dict of more than %d keys", maxKeys) }

// put sets what stands for a key.
func put(d *exec.Dict, key, value *exec.Value) {
	i := slices.IndexFunc(d.Pairs, func(p *exec.Pair) bool { return equal(p.Key, key) })
	if i < 0 {
		d.Pairs = append(d.Pairs, &exec.Pair{Key: key, Value: value})
		return
	}
	d.Pairs[i] = &exec.Pair{Key: d.Pairs[i].Key, Value: value}
}

// made is a dict, which is false if it is empty, as gonja's is not.
func made(d *exec.Dict) *exec.Value {
	if len(d.Pairs) == 0 {
		return exec.AsValue(map[string]any{})
	}
	return exec.AsValue(d)
}

// pairs are what a dict holds, in its order. A map has none: its names are sorted.
func pairs(v *exec.Value) []*exec.Pair {
	var out []*exec.Pair
	v.Iterate(func(_, _ int, key, value *exec.Value) bool {
		out = append(out, &exec.Pair{Key: key, Value: value})
		return true
	}, func() {})
	return out
}

func tuples(list []*exec.Pair) []tuple {
	out := make([]tuple, len(list))
	for i, p := range list {
		out[i] = tuple{p.Key, p.Value}
	}
	return out
}

// lookup returns what a dict holds for a key.
func lookup(v, key *exec.Value) (*exec.Value, bool) {
	for _, p := range pairs(v) {
		if equal(p.Key, key) {
			return p.Value, true
		}
	}
	return exec.AsValue(nil), false
}

// dict makes a dict of another and of names, which gonja forgets the order of.
func dict(args *exec.VarArgs) (*exec.Value, error) {
	d := &exec.Dict{}
	if n := len(args.Args); n > 1 || n == 1 && !args.First().IsDict() {
		return nil, errors.New("dict takes one dict, and names")
	}
	if len(args.Args) == 1 {
		d.Pairs = pairs(args.First())
	}
	if len(d.Pairs)+len(args.KwArgs) > maxKeys {
		return nil, manyKeys()
	}
	for _, name := range slices.Sorted(maps.Keys(args.KwArgs)) {
		put(d, exec.AsValue(name), args.KwArgs[name])
	}
	return made(d), nil
}

// dictMethods are Python's that change nothing, as those that do are refused by transformers.
func dictMethods() *exec.MethodSet[map[string]any] {
	of := func(f func(dict *exec.Value) any) exec.Method[map[string]any] {
		return func(_ map[string]any, dict *exec.Value, args *exec.VarArgs) (any, error) {
			return f(dict), args.Take()
		}
	}
	return exec.NewMethodSet(map[string]exec.Method[map[string]any]{
		"copy":  of(func(v *exec.Value) any { return v.Interface() }),
		"keys":  of(func(v *exec.Value) any { return v.Keys() }),
		"items": of(func(v *exec.Value) any { return tuples(pairs(v)) }),
		"values": of(func(v *exec.Value) any {
			out := exec.ValuesList{}
			for _, p := range pairs(v) {
				out = append(out, p.Value)
			}
			return out
		}),
		"get": get,
	})
}

func get(_ map[string]any, dict *exec.Value, args *exec.VarArgs) (any, error) {
	if n := len(args.Args); n < 1 || n > 2 || len(args.KwArgs) > 0 {
		return nil, errors.New("get takes a key and what there is without it")
	}
	if v, ok := lookup(dict, args.First()); ok {
		return v.Interface(), nil
	}
	if len(args.Args) == 2 {
		return args.Args[1].Interface(), nil
	}
	return none, nil
}

// items are the pairs of a dict; what is undefined has none.
func items(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	switch err := args.Take(); {
	case err != nil:
		return exec.AsValue(err)
	case !in.IsNil() && !in.IsDict():
		return refused(e, fmt.Errorf("the chat template takes items of %.100q, which is no dict", in.String()))
	}
	return exec.AsValue(tuples(pairs(in)))
}

// dictSort are the pairs of a dict by their keys or values.
func dictSort(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	var sensitive, reverse bool
	var by string
	err := args.Take(exec.KeywordArgument("case_sensitive", exec.AsValue(false), exec.BoolArgument(&sensitive)),
		exec.KeywordArgument("by", exec.AsValue("key"), exec.StringEnumArgument(&by, []string{"key", "value"})),
		exec.KeywordArgument("reverse", exec.AsValue(false), exec.BoolArgument(&reverse)))
	switch {
	case err != nil:
		return exec.AsValue(err)
	case !in.IsDict():
		return refused(e, fmt.Errorf("the chat template takes dictsort of %.100q, which is no dict", in.String()))
	}
	list := pairs(in)
	slices.SortStableFunc(list, func(a, b *exec.Pair) int {
		x, y := a.Key, b.Key
		if by == "value" {
			x, y = a.Value, b.Value
		}
		if reverse {
			x, y = y, x
		}
		order, comparable := compare(x, y, sensitive)
		if !comparable {
			refused(e, fmt.Errorf("the chat template takes dictsort of %.100q and %.100q, which cannot be compared", x.String(), y.String()))
		}
		return order
	})
	return exec.AsValue(tuples(list))
}
