package chat

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// A jsonText is written as json.dumps of Python does, in the order of dicts.
type jsonText struct {
	strings.Builder
	item, key     string // what stands behind each
	indent        string
	lines         bool // each item has its own
	ascii, sorted bool
	err           error
}

// toJSON is the filter of transformers.
func toJSON(_ *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
	t := jsonText{item: ", ", key: ": "}
	if err := t.options(args); err != nil {
		return exec.AsValue(err)
	}
	if t.value(in, 0); t.err != nil {
		return exec.AsValue(t.err)
	}
	return exec.AsValue(t.String())
}

func (t *jsonText) options(args *exec.VarArgs) error {
	if v := argument(args, 1, "indent"); v != nil {
		t.lines, t.item = true, ","
		switch n := v.Integer(); {
		case v.IsString():
			t.indent = v.String()
		case !v.IsInteger():
			return errors.New("indent is neither a number nor a text")
		case n > maxRepeated:
			return tooLong("tojson")
		default:
			t.indent = strings.Repeat(" ", max(0, n))
		}
	}
	if v := argument(args, 2, "separators"); v != nil {
		if !v.IsList() || v.Len() != 2 {
			return errors.New("separators are not two texts")
		}
		t.item, t.key = v.Index(0).String(), v.Index(1).String()
	}
	if v := argument(args, 0, "ensure_ascii"); v != nil {
		t.ascii = v.IsTrue()
	}
	if v := argument(args, 3, "sort_keys"); v != nil {
		t.sorted = v.IsTrue()
	}
	return nil
}

func (t *jsonText) write(text string) {
	if t.err == nil && t.Len()+len(text) > maxRepeated {
		t.err = tooLong("tojson")
	}
	if t.err == nil {
		t.WriteString(text)
	}
}

// value writes v, which stands within so many others.
func (t *jsonText) value(v *exec.Value, deep int) {
	switch {
	case t.err != nil:
	case deep > maxDeep:
		t.err = fmt.Errorf("more than %d lists and dicts stand within each other", maxDeep)
	case isNone(v):
		t.write("null")
	case v.IsBool():
		t.write(strings.ToLower(v.String()))
	case v.IsString():
		t.quoted(v.String())
	case v.IsNumber() && math.IsInf(v.Float(), 0), v.IsNumber() && math.IsNaN(v.Float()):
		t.err = errors.New("inf and nan are not known")
	case v.IsNumber():
		t.write(v.String())
	case v.IsList():
		t.group("[]", v.Len(), deep, func(i int) { t.value(v.Index(i), deep+1) })
	case v.IsDict():
		t.dict(pairs(v), deep)
	default:
		t.err = fmt.Errorf("%.100q is neither text, number, list nor dict", v.String())
	}
}

func (t *jsonText) dict(list []*exec.Pair, deep int) {
	if t.sorted {
		slices.SortStableFunc(list, func(a, b *exec.Pair) int {
			order, _ := compare(a.Key, b.Key, true)
			return order
		})
	}
	t.group("{}", len(list), deep, func(i int) {
		switch k := list[i].Key; {
		case k.IsList(), k.IsDict():
			t.err = errors.New("a key is neither text nor number")
		case k.IsString():
			t.quoted(k.String())
		default:
			t.write(`"`)
			t.value(k, deep)
			t.write(`"`)
		}
		t.write(t.key)
		t.value(list[i].Value, deep+1)
	})
}

// group writes n items between brackets.
func (t *jsonText) group(brackets string, n, deep int, item func(i int)) {
	t.write(brackets[:1])
	for i := 0; i < n && t.err == nil; i++ {
		if i > 0 {
			t.write(t.item)
		}
		t.line(deep + 1)
		item(i)
	}
	if n > 0 {
		t.line(deep)
	}
	t.write(brackets[1:])
}

func (t *jsonText) line(deep int) {
	if !t.lines {
		return
	}
	t.write("\n")
	for range deep {
		t.write(t.indent)
	}
}

func (t *jsonText) quoted(text string) {
	const short, letter = "\"\\\n\r\t\b\f", `"\nrtbf`
	t.write(`"`)
	for _, r := range text {
		i := strings.IndexRune(short, r)
		switch {
		case i >= 0:
			t.write(`\` + letter[i:i+1])
		case r < ' ' || t.ascii && r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				t.write(fmt.Sprintf(`\u%04x`, unit))
			}
		default:
			t.write(string(r))
		}
	}
	t.write(`"`)
}
