package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// inConfig stands before the keys of config.json in messages.
const inConfig = "config.json: "

// Settings are the keys of one object of config.json. They record which keys
// were read, so that a key nobody read can be refused, and keep the first error,
// which Build returns: after one, and on nil Settings, the accessors return
// defaults. An absent key has its default, which becomes a note; null has it too,
// and is noted unless the default means none, as null does.
type Settings struct {
	where  string // stands before a key in messages
	values map[string]any
	read   map[string]bool
	absent map[string]string // of keys without a value: the defaults taken
	within map[string]*Settings
	only   map[string]string // of keys that nobody reads: the values that the family has anyway
	err    *error

	// spell is what the checkpoint calls a key, where it has no config.json; else nil.
	spell func(key string) string
}

func newSettings(where string, values map[string]any, err *error) *Settings {
	return &Settings{where: where, values: values, read: map[string]bool{}, absent: map[string]string{}, within: map[string]*Settings{}, only: map[string]string{}, err: err}
}

// name is a key as messages have it.
func (s *Settings) name(key string) string {
	if s.spell != nil {
		return s.spell(strings.TrimPrefix(s.where, inConfig) + key)
	}
	return s.where + key
}

// Has reports whether the key is there and not null; it does not count as reading it.
func (s *Settings) Has(key string) bool { return s != nil && s.values[key] != nil }

// Err returns the first error, if there is one.
func (s *Settings) Err() error {
	if s == nil {
		return nil
	}
	return *s.err
}

// Refuse records as the first error, unless there is one, that the key's value is not what is wanted.
func (s *Settings) Refuse(key, want string) {
	if s == nil || *s.err != nil {
		return
	}
	if !s.Has(key) {
		*s.err = fmt.Errorf("%s is not there: want %s", s.name(key), want)
		return
	}
	*s.err = fmt.Errorf("%s is %s: want %s", s.name(key), show(s.values[key]), want)
}

// Int returns a whole number from 0 to 1<<31-1.
func (s *Settings) Int(key string, def int) int { return s.intIn(key, def, 0, math.MaxInt32) }

func (s *Settings) intIn(key string, def, least, most int) int {
	return get(s, key, def, fmt.Sprintf("a whole number from %d to %d", least, most), func(v any) (int, bool) { return whole(v, least, most) })
}

// Float returns a finite number that is not negative.
func (s *Settings) Float(key string, def float64) float64 {
	return s.floatIn(key, def, "a number from 0", func(f float64) bool { return f >= 0 })
}

func (s *Settings) floatIn(key string, def float64, want string, ok func(float64) bool) float64 {
	return get(s, key, def, want, func(v any) (float64, bool) {
		f, is := number(v)
		return f, is && ok(f)
	})
}

// Size returns a whole number from least to most; without one the key is refused.
func (s *Settings) Size(key string, least, most int) int {
	if !s.Has(key) {
		s.Refuse(key, fmt.Sprintf("a whole number from %d to %d", least, most))
		return 0
	}
	return s.intIn(key, 0, least, most)
}

// Only refuses a key that is there with another value: the family knows this one alone.
func (s *Settings) Only(key string, value any) {
	if !s.Has(key) {
		return
	}
	s.read[key] = true
	n, isNumber := number(s.values[key])
	if want, is := value.(int); is && isNumber && n == float64(want) || s.values[key] == value {
		return
	}
	s.Refuse(key, show(value))
}

// Bool returns true or false.
func (s *Settings) Bool(key string, def bool) bool {
	return get(s, key, def, "true or false", func(v any) (bool, bool) { b, ok := v.(bool); return b, ok })
}

// String returns a text.
func (s *Settings) String(key, def string) string {
	return get(s, key, def, "a text", func(v any) (string, bool) { t, ok := v.(string); return t, ok })
}

// Strings returns a list of texts; nil if there is none.
func (s *Settings) Strings(key string) []string {
	return get(s, key, nil, "a list of texts", listOf(func(v any) (string, bool) { t, ok := v.(string); return t, ok }))
}

// Ints returns a list of whole numbers from 0 to most; nil if there is none.
func (s *Settings) Ints(key string, most int) []int {
	return get(s, key, nil, fmt.Sprintf("a list of whole numbers from 0 to %d", most), listOf(func(v any) (int, bool) { return whole(v, 0, most) }))
}

// listOf converts lists by what converts their elements.
func listOf[T any](element func(any) (T, bool)) func(any) ([]T, bool) {
	return func(v any) ([]T, bool) {
		list, ok := v.([]any)
		out := []T{}
		for _, e := range list {
			x, is := element(e)
			out, ok = append(out, x), ok && is
		}
		return out, ok
	}
}

// Object returns the settings of an object; nil, which reads as all defaults, if there is none.
func (s *Settings) Object(key string) *Settings {
	object := get(s, key, nil, "an object", func(v any) (map[string]any, bool) { m, ok := v.(map[string]any); return m, ok })
	if object == nil {
		return nil
	}
	if s.within[key] == nil {
		s.within[key] = newSettings(s.where+key+".", object, s.err)
		s.within[key].spell = s.spell
	}
	return s.within[key]
}

func get[T any](s *Settings, key string, def T, want string, convert func(any) (T, bool)) T {
	if s == nil {
		return def
	}
	s.read[key] = true
	v, there := s.values[key]
	if v == nil {
		if !there || !none(def) {
			s.absent[key] = word(def)
		}
		return def
	}
	x, ok := convert(v)
	if !ok {
		s.Refuse(key, want)
		return def
	}
	return x
}

// none reports whether a default is what null says: not a flag's, which is one of two.
func none(def any) bool {
	switch d := def.(type) {
	case bool:
		return false
	case int:
		return d == 0
	case float64:
		return d == 0 || math.IsInf(d, 0)
	case string:
		return d == ""
	}
	return true
}

// word is a default as notes have it.
func word(def any) string {
	switch text := fmt.Sprint(def); text {
	case "+Inf", "", "[]", "map[]":
		return "none"
	default:
		return text
	}
}

func whole(v any, least, most int) (int, bool) {
	f, ok := number(v)
	return int(f), ok && f >= float64(least) && f <= float64(most) && f == math.Trunc(f)
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// defaults lists the keys that were read but are not there, and what was taken.
func (s *Settings) defaults() []string {
	if s == nil {
		return nil
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(s.absent)) {
		says := "the checkpoint does not say " + strings.TrimPrefix(s.where, inConfig) + key
		if _, null := s.values[key]; null {
			says = s.where + key + " is null"
		}
		list = append(list, fmt.Sprintf("%s: %s is taken", says, s.absent[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(s.within)) {
		list = append(list, s.within[key].defaults()...)
	}
	return list
}

// unread lists the keys that were not read and might matter, with their values: those
// that every family knows one value of, which is wanted, and those that this one does
// not know.
func (s *Settings) unread(ignored []string) (refused, unknown []string) {
	if s == nil {
		return nil, nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		v := s.values[key]
		switch {
		case s.within[key] != nil:
			r, u := s.within[key].unread(ignored)
			refused, unknown = append(refused, r...), append(unknown, u...)
		case !s.read[key] && !slices.Contains(ignored, key) && !harmless(key, v):
			is := fmt.Sprintf("%s is %s", s.name(fmt.Sprintf("%.80s", key)), show(v))
			if want := cmp.Or(s.only[key], only(key)); want != "" {
				refused = append(refused, is+": want "+want)
			} else {
				unknown = append(unknown, is)
			}
		}
	}
	return refused, unknown
}

// some is the first few of a list in which a stranger's keys are, the others counted.
func some(list []string) []string {
	const most = 16
	if more := len(list) - most; more > 0 {
		return append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return list
}

// only is the value of a key that asks for what every family does, where there is one.
func only(key string) string {
	switch {
	case slices.Contains(without(), key):
		return "false"
	case key == "hidden_act":
		return `"silu"`
	case key == "partial_rotary_factor" || key == "pretraining_tp":
		return "1"
	}
	return ""
}

// without are flags whose false asks for what every family does that does not read
// them: they add a part, such as a bias, and false leaves it out. Another false is
// refused: it may switch off what the family always does, as rope_interleave does
// for DeepSeek-V3. The first line is what configs of published models say.
func without() []string {
	return []string{
		"attention_bias", "lm_head_bias", "mlp_bias", "qkv_bias", "use_bias", "use_sliding_window",
		"add_cross_attention", "is_decoder", "is_encoder_decoder", "tie_encoder_decoder",
		"gradient_checkpointing", "output_scores", "return_dict_in_generate", "torchscript",
	}
}

// harmless reports whether a value asks for nothing, or for what every family does.
func harmless(key string, v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x && only(key) == "false"
	case string:
		return x == "" || only(key) == strconv.Quote(x)
	case []any:
		return len(x) == 0
	case map[string]any:
		return len(x) == 0
	}
	f, ok := number(v)
	return ok && f == 1 && only(key) == "1"
}
