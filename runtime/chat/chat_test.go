package chat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var talk = []Message{{"system", `be "brief"`}, {"user", " hi\n"}, {"assistant", "<a>b</a>yes"}, {"user", "bye"}}

// renders renders each of the templates of talk, and compares with what is wanted.
func renders(t *testing.T, wanted map[string]string) {
	t.Helper()
	for text, want := range wanted {
		tmpl, err := Parse("t", text, map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
		require.NoError(t, err, text)
		got, err := tmpl.Render(talk, true)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

// TestRender has what the templates of the families use; the wanted texts are
// those of Jinja 3 with the options that transformers sets.
func TestRender(t *testing.T) {
	renders(t, map[string]string{
		"{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ '[' + m['content'] | trim + ']' }}{% elif m.role == 'assistant' %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}":                                                                                                                     "<s>[hi] <a>b</a>yes</s>[bye]", // turns
		"{%- set ns = namespace(open=true, last=0) %}{%- for m in messages[::-1] %}{%- set i = (messages|length - 1) - loop.index0 %}{%- if ns.open and m.role == 'user' and m.content is string and not(m.content.startswith('<')) %}{%- set ns.open = false %}{%- set ns.last = i %}{%- endif %}{%- endfor %}{{ ns.last }}": "3",                            // namespace
		"{% for m in messages %}{% if '</a>' in m.content %}{{ m.content.split('</a>')[-1].lstrip('\\n') }}{% endif %}{% endfor %}{{ messages[1].content.strip() }}{{ messages[0].content[:2] }}":                                                                                                                             "yeshibe",                      // strings
		"{% for m in messages %}{{ loop.first }}{{ loop.index }}{% if loop.previtem is defined %}p{% endif %}{% if loop.last %}!{% endif %}{% endfor %}":                                                                                                                                                                      "True1False2pFalse3pFalse4p!",  // loop
		"{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set sys = messages[0]['content'] %}{% else %}{% set rest = messages %}{% endif %}{{ rest|length }} {{ sys }}":                                                                                                                                `3 be "brief"`,                 // slices
		"{% macro f(x, y=2) %}<{{ x }}{{ y }}>{% endmacro %}{{ f(1) }}{{ f(1, y=3) }}":                                                   "<12><13>",                                                                    // macro
		"{% if tools is defined and tools %}t{% else %}n{% endif %}{{ messages[0].get('name', 'none') }}":                                "nnone",                                                                       // undefined
		"  {% if true %}\n  a\n    {% endif %}\nb\n":                                                                                     "  a\nb",                                                                      // blocks
		"{{ messages[0] | tojson }}{{ {'a': '<:,\"'} | tojson(indent=1) }}":                                                              `{"role": "system", "content": "be \"brief\""}` + "{\n \"a\": \"<:,\\\"\"\n}", // json
		"{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% endif %}{% endfor %}": "<a>b</a>yes",                                                                 // generation
		"{% for i in range(2, 9, 3) %}{% if i == 8 %}{% break %}{% endif %}{{ i }}{% endfor %}":                                          "25",                                                                          // break
		"{{ 'a' + ('b' if messages else 'c') }}{{ ('x' if false) }}{{ [1 if true else 2, 3][0] }}{% set y = 'p' if false else 'q' if true else 'r' %}{{ y }}{{ dict(k='v' if true else 'w').k }}{{ 'é' if true }}":                                                                                                                                                                                                            "ab1qvé",                                // conditional
		"{% for m in messages if m.role == 'user' %}{{ loop.index ~ ('!' if loop.last else ',') }}{% endfor %}{% if ('' if true else 'x') %}no{% elif (1 if messages else 0) %}yes{% endif %}{{ (messages[9].content.strip() if messages[9] is defined else '-') }}{{ ((1 if false else 2) if true else 3) }}{{ messages[1:2 if true else 3]|length }}{{ {'k': 'v' if true else 'w'}['k'] }}{{ '(if' if true else 'else)' }}": "1,2!yes-21v(if",                        // conditional parts
		"{{ 'a,b,c'.split(',', 1)[1] }} {{ ' x  y '.split()|length }} {{ '1 2 3'.split(none, 1)[1] }} {{ 'a.b.c'.rsplit('.', maxsplit=1)[0] }} {{ ' z '.rstrip() }}|{{ 'xxyxx'.strip('x') }} {{ '\\n\\nq'.lstrip('\\n') }} {{ 'a-b'.replace('-', '+') }}{{ 'a b'.title() }}{{ 'ab'.startswith('a') }}{{ ['x','y']|join('-') }}{{ '-'.join(['x','y']) }}":                                                                      "b,c 2 2 3 a.b  z|y q a+bA BTruex-yx-y", // splits
		"{{ 'x' if add_generation_prompt else 'y' }}{{ 'a' ~ 1 }}": "xa1", // prompt
		"{{ strftime_now('%%') }}":                                 "%",
	})
}

func TestOpen(t *testing.T) {
	tmpl, err := Open([]byte(`{"chat_template": "{{ bos_token }}{{ eos_token }}", "bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null}`), nil)
	require.NoError(t, err)
	got, err := tmpl.Render(nil, false)
	require.NoError(t, err)
	require.Equal(t, "<s></s>", got)

	list := `{"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]}`
	for want, jinja := range map[string][]byte{"d": nil, "j": []byte("j")} {
		tmpl, err := Open([]byte(list), jinja)
		require.NoError(t, err)
		got, err := tmpl.Render(talk, true)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestRefused(t *testing.T) {
	for _, none := range []string{`{}`, `{"chat_template": null}`, `{"chat_template": [{"name": "rag", "template": "x"}]}`} {
		_, err := Open([]byte(none), nil)
		require.ErrorIs(t, err, ErrNone, none)
	}
	_, err := Open(nil, nil)
	require.ErrorIs(t, err, ErrNone)
	_, err = Open([]byte(`{"chat_template": 3}`), nil)
	require.EqualError(t, err, "tokenizer_config.json: chat_template is neither text nor a list of name and template")
	_, err = Open([]byte(`{"chat_template": "{% for %}"}`), nil)
	require.ErrorContains(t, err, "chat_template: ")
	_, err = Open([]byte(`[`), nil)
	require.ErrorContains(t, err, "tokenizer_config.json: ")

	tmpl, err := Parse("t", "{% if messages[0].role != 'user' %}{{ raise_exception('roles must alternate') }}{% endif %}", nil)
	require.NoError(t, err)
	_, err = tmpl.Render(talk, true)
	require.EqualError(t, err, "the chat template refuses these messages: roles must alternate")

	for text, want := range map[string]string{
		"{% for i in range(10000000000) %}{% endfor %}": "range of more than",
		"{% include '/etc/passwd' %}":                   "",
		"{{ messages.nothing() }}":                      `t: line 1, "{{ messages.nothing() }}": `,
	} {
		tmpl, err := Parse("t", text, nil)
		if err == nil {
			_, err = tmpl.Render(talk, true)
		}
		require.ErrorContains(t, err, want, text)
	}
}

// Errors are told in the template's lines, not in what gonja made of them.
func TestErrorsTellTheLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{% for m in messages %}\n{{ m.nope.x }}\n{% endfor %}", `t: line 2, "{{ m.nope.x }}": Unable to evaluate m.nope.x: Can't use Getitem on None`},
		{"{% if true %}\n{% for m in messages %}\n  {{ m.a.b }}\n{% endfor %}{% endif %}", `t: line 3, "{{ m.a.b }}": Unable to evaluate m.a.b: Can't use Getitem on None`},
		{"\n{% macro f(x) %}\n{{ x.y.z }}\n{% endmacro %}{{ f(messages) }}", `t: line 3, "{{ x.y.z }}": Unable to evaluate x.y.z: Can't use Getitem on None`},
		{"a\n{{ foo | nofilter }}", `t: line 2, "{{ foo | nofilter }}": filter 'nofilter' not found`},
		{"a \n\n {%- if true -%}\n\n\n{#- b\n-#}\n{% raw -%}\n{{ {%- endraw %}\n{%- set c = 'd\n' ~ 'e\n' -%}\n {%- endif -%}\n\n{{- f | nofilter }}", `t: line 15, "{{- f | nofilter }}": filter 'nofilter' not found`},
		{"{{ messages is odder }}", `t: line 1, "{{ messages is odder }}": test 'odder' not found`},
	} {
		tmpl, err := Parse("t", c.text, nil)
		require.NoError(t, err)
		_, err = tmpl.Render(talk, true)
		require.EqualError(t, err, c.want, c.text)
	}
}

func TestStrftime(t *testing.T) {
	at := time.Date(2026, 3, 7, 15, 4, 5, 0, time.UTC)
	require.Equal(t, "07 March 2026, 100% 03 PM", strftime(at, "%d %B %Y, 100%% %I %p"))
}
