// Package chat turns messages into the text that a model was trained on, by the
// Jinja template that comes with its tokenizer.
//
// Templates see what transformers gives them: messages, add_generation_prompt, the
// special tokens by name, tools and documents, which are None, raise_exception and
// strftime_now, with blocks trimmed.
//
// They print what Jinja of Python prints, or are refused by an error that names the line: spaced
// trims, and rewrite makes over, what gonja has otherwise, from escapes to operators. Names given to dict()
// and what a namespace holds are sorted. Refused, though Jinja knows them, are whole numbers beyond 2^53, names
// that begin with two underscores, rounding to tens and more, startswith and endswith of a part, a format's values
// by their names, dicts of more than 1024 keys, raw text that holds an endraw, and a number right before a word.
//
// What is left of gonja: what filters such as map and select
// make is a list, and false if it is empty; a range and a slice of a tuple are lists, which may be equal to
// tuples; a namespace prints as a dict; a text that is safe is as others; sort takes what cannot be compared; and
// some of what Python would refuse passes, such as a number of what is undefined.
//
// They are text from elsewhere, so what a template may do is bounded: it reaches no
// file and no other template, and one that takes ten seconds, half a GiB of memory or
// very deep recursion is an error, as is a text of more than a MiB by a product or a
// filter that repeats or fills. What cannot be held is a single expression: an error
// for its time or memory leaves it at work.
package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user, assistant, or what the template knows
	Content string `json:"content"`
}

// A Template renders conversations for one model. It may be used by several
// goroutines at once.
type Template struct {
	t       *exec.Template
	name    string
	text    string
	special map[string]string
	limits  limits
}

// ErrNone is wrapped where a tokenizer comes without a template.
var ErrNone = errors.New("no chat template")

// Open reads the template that stands in tokenizer_config.json, or in
// chat_template.jinja, which wins where there are both; either may be nil.
func Open(tokenizerConfig, jinja []byte) (*Template, error) {
	if tokenizerConfig == nil && jinja == nil {
		return nil, ErrNone
	}
	c := struct {
		Template json.RawMessage `json:"chat_template"`
	}{}
	special := map[string]json.RawMessage{}
	if tokenizerConfig != nil {
		err := json.Unmarshal(tokenizerConfig, &c)
		if err == nil {
			err = json.Unmarshal(tokenizerConfig, &special)
		}
		if err != nil {
			return nil, fmt.Errorf("tokenizer_config.json: %w", err)
		}
	}
	name, text := "chat_template.jinja", string(jinja)
	if jinja == nil {
		var err error
		if name, text, err = pick(c.Template); err != nil {
			return nil, fmt.Errorf("tokenizer_config.json: %w", err)
		}
	}
	return Parse(name, text, specialTokens(special))
}

// pick returns the text of a template that is given alone, or the one named
// default of a list.
func pick(raw json.RawMessage) (name, text string, err error) {
	const key = "chat_template"
	if len(raw) == 0 || string(raw) == "null" {
		return key, "", ErrNone
	}
	if json.Unmarshal(raw, &text) == nil {
		return key, text, nil
	}
	var list []struct{ Name, Template string }
	if err := json.Unmarshal(raw, &list); err != nil {
		return key, "", fmt.Errorf("%s is neither text nor a list of name and template", key)
	}
	for _, l := range list {
		if l.Name == "default" {
			return key, l.Template, nil
		}
	}
	return key, "", fmt.Errorf("%s: none of %d templates is named default: %w", key, len(list), ErrNone)
}

// specialTokens returns the special tokens: text, or an object with content.
func specialTokens(values map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for _, key := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"} {
		var text string
		var object struct{ Content string }
		switch {
		case json.Unmarshal(values[key], &text) == nil:
		case json.Unmarshal(values[key], &object) == nil:
			text = object.Content
		default:
			continue
		}
		out[key] = text
	}
	return out
}

// Parse reads a template; name stands in errors. special are the values of
// bos_token and the like.
func Parse(name, text string, special map[string]string) (*Template, error) {
	if err := checkText(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t, err := watched(most(), func(error) {}, func() (*exec.Template, error) {
		c := config.New()
		c.KeepTrailingNewline = true // as spaced has dropped it
		plain, err := spaced(text)
		if err != nil {
			return nil, err
		}
		text, err := rewrite(plain, c)
		if err != nil {
			return nil, err
		}
		if err := checkDeep(text); err != nil {
			return nil, err
		}
		t, err := parse(name, text, c)
		if err != nil {
			if _, said := parse(name, plain, c); said != nil { // of what stands there
				err = said
			}
		}
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Template{t, name, text, special, most()}, nil
}

// parse has gonja parse a rewritten text.
func parse(name, text string, c *config.Config) (*exec.Template, error) {
	loader := loaders.MustNewMemoryLoader(map[string]string{"/" + name: text})
	t, err := exec.NewTemplate("/"+name, c, loader, environment())
	return t, told(err)
}

// Render returns the text of a conversation. With prompt, it ends where the
// assistant's answer is to begin.
func (t *Template) Render(messages []Message, prompt bool) (string, error) {
	list := make([]any, len(messages))
	for i, m := range messages {
		list[i] = &exec.Dict{Pairs: []*exec.Pair{
			{Key: exec.AsValue("role"), Value: exec.AsValue(m.Role)},
			{Key: exec.AsValue("content"), Value: exec.AsValue(m.Content)},
		}}
	}
	data := map[string]any{"messages": list, "add_generation_prompt": prompt, "tools": none, "documents": none}
	for key, v := range t.special {
		data[key] = v
	}
	var text strings.Builder
	g := &guard{out: &text}
	data[guardKey] = g
	data["raise_exception"] = func(args *exec.VarArgs) (string, error) {
		g.stop(refusal{strings.TrimSpace(shown(args.First()))})
		return "", g.err()
	}
	out, err := watched(t.limits, g.stop, func() (string, error) {
		err := t.t.Execute(g, exec.NewContext(data))
		return text.String(), err
	})
	if stopped := g.err(); stopped != nil { // which does not come out of the template whole
		return "", t.placed(stopped, err)
	}
	if err != nil {
		return "", errors.New(t.tell(err))
	}
	return out, nil
}

// A refusal is the template's own.
type refusal struct{ message string }

func (r refusal) Error() string { return "the chat template refuses these messages: " + r.message }
