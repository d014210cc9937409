package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Templates that would run for ever, or take all memory, end in errors.
func TestHostile(t *testing.T) {
	deep, long := strings.Repeat("(", 1<<17), strings.Repeat("x", maxText+1)
	var many strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&many, "a%d=1,", i)
	}
	for _, c := range []struct{ text, want string }{
		{"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "more than 200 macros, loops and calls deep"},
		{"{% macro f(x=f()) %}{% endmacro %}{{ f() }}", "more than 200 macros, loops and calls deep"},
		{"{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{% if 1 %}{{ f() }}{% endif %}{% endmacro %}{{ f() }}", "more than 200 macros, loops and calls deep"},
		{"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "more than 200 macros, loops and calls deep"},
		{"{% set ns = namespace() %}{% macro m() %}{% set ns.c = caller %}{% endmacro %}{% call m() %}{{ ns.c() }}{% endcall %}{{ ns.c() }}", "more than 200 macros, loops and calls deep"},
		{"{% for i in range(60000) %}{% for j in range(1000) %}{{ bos_token }}{% endfor %}{% endfor %}", "writes more than 16777216 bytes"},
		{"{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}", "a value that holds itself, or very many"},
		{"{% set a = namespace() %}{% set b = namespace(a=[[a]]) %}{% set a.b = b %}{{ a == b }}", "a value that holds itself, or very many"},
		{"{% set messages[0]['x'] = {'m': messages} %}{{ messages }}", `Can't write field "x"`},
		{"{% for i in range(10000000000) %}{% endfor %}", "range of more than 65536 numbers"},
		{"{{ " + deep + " }}", "t: more than 200 brackets stand within each other"},
		{long, "t: 262145 bytes, more than 262144"},
		{"{{ 'a' * 1000000000000 }}", "a text of 1 bytes times 1000000000000 is more than 1048576 bytes"},
		{"{% set x = 'ab' %}{% if 1 + x * 1000 * 1000 %}{% endif %}", "a text of 2000 bytes times 1000 is more than 1048576 bytes"},
		{"{{ [1 if 'a' * 9999999 else 2] }}", "a text of 1 bytes times 9999999 is more than 1048576 bytes"},
		{"{{ -10 ** 17 }}", "a power of more than 9007199254740992"},
		{"{{ 1" + strings.Repeat("*1", 300) + " }}", "t: more than 200 brackets stand within each other"},
		{"{{ 1 % 0 }}", "the chat template divides by zero"},
		{"{{ 1.5 // 0 }}", "the chat template divides by zero"},
		{"{{ 'a' / 2 }}", `the chat template divides "a" by "2": numbers are needed`},
		{"{{ 'a' * 'b' }}", `the chat template multiplies "a" by "b": numbers are needed, or one and a text`},
		{"{{ 9007199254740992 * 2 }}", "a product of more than 9007199254740992"},
		{"{{ 'a' + 1 }}", `the chat template adds "a" and "1": two numbers, texts or lists are needed`},
		{"{{ 'a' - 1 }}", `the chat template takes "1" from "a": numbers are needed`},
		{"{{ 9007199254740992 + 2 }}", "a sum of more than 9007199254740992"},
		{"{{ '2' ** 2 }}", "takes a power of what is no number"},
		{"{{ (-8) ** 0.5 }}", "a power of more than 9007199254740992"},
		{"{{ 'a'|center(10 ** 12) }}", "a text of more than 1048576 bytes by center"},
		{"{{ 'a\nb'|indent(10 ** 12) }}", "a text of more than 1048576 bytes by indent"},
		{"{{ ('a\n' * 1000)|indent('x' * 2000, true) }}", "a text of more than 1048576 bytes by indent"},
		{"{{ '{:1000000000}'.format(1) }}", "place {:1000000000}: at most 6 characters may stand behind the colon"},
		{"{{ '{:{}}'.format(1, 10 ** 9) }}", "a bracket stands alone"},
		{"{{ '{0:999999}{0:999999}'.format(1) }}", "a text of more than 1048576 bytes by format"},
		{"{{ '{} {}'.format(1) }}", "place {}: no argument 1"},
		{"{{ '}'.format(1) }}", "a bracket stands alone"},
		{"{{ '%1000000000s'|format('a') }}", "only %s, %d and %% are known"},
		{"{% set x = 'a' * 1000000 %}{{ '%s%s'|format(x, x) }}", "a text of more than 1048576 bytes by %"},
		{"{{ [1, [2]]|tojson(indent=10 ** 12) }}", "a text of more than 1048576 bytes by tojson"},
		{"{{ range(60000)|list|tojson(indent='x' * 1000) }}", "a text of more than 1048576 bytes by tojson"},
		{"{{ range(60000)|join('x' * 1000) }}", "a text of more than 1048576 bytes by join"},
		{"{% set x = 'x' * 1000000 %}{{ x.join(['a', 'b', 'c']) }}", "a text of more than 1048576 bytes by join"},
		{"{% set x = 'a' * 1000000 %}{{ x|replace('a', x) }}", "a text of more than 1048576 bytes by replace"},
		{"{{ [1]|batch(10 ** 12, 'x')|list }}", "asks batch or slice for 1000000000000, more than 65536"},
		{"{% set a, b = 1, 2 %}", "set of several names at once is not known: each needs its own"},
		{"{% for x in 5 %}{% endfor %}", `the chat template goes through "5", which is no list`},
		{"{{ 5|items }}", `takes items of "5", which is no dict`},
		{"{{ {'a': 1, 'b': 'x'}|dictsort(by='value') }}", "which cannot be compared"},
		{"{{ {'a': 1}|dictsort(by='x') }}", "the chat template calls dictsort"},
		{"{{ undefined|tojson }}", "the chat template calls tojson"},
		{"{{ nothing.at.all|join }}", "Unable to evaluate nothing.at"},
		{"{{ [1].append(2) }}", "unknown method 'append'"},
		{"{{ 'a'|pprint }}", "filter 'pprint' not found"},
		{"{{ ['a'|pprint] }}", "filter 'pprint' not found"},
		{"{{ 'a'|pprint is defined }}", "filter 'pprint' not found"},
		{"\n{{ 'a' < 1 }}", "t: line 2, \"{{ 'a' < 1 }}\": the chat template compares"},
		{"{% for k, v in messages[:1] %}{% endfor %}", "by pairs, which it is none of"},
		{"{{ '%s %s' % 3 }}", "more places than 1 values"},
		{"{{ '%s' % (1, 2) }}", "1 places for 2 values"},
		{"{{ '%5.1f' % 3 }}", "only %s, %d and %% are known"},
		{"{{ '%d' % 'a' }}", "%d needs a number"},

		{"{% set ns = namespace() %}{% set ns.x = {'a': ns} %}{{ ns }}", "a value that holds itself, or very many"},
		{"{{ ['x' * 1000000, 'y' * 1000000] }}", "a text of more than 1048576 bytes by printing"},
		{"{{ range }}", "the chat template prints a function"},
		{"{% macro f(x, n) %}{% if n %}{{ f([[[x]]], n - 1) }}{% else %}{{ x|tojson }}{% endif %}{% endmacro %}{{ f(1, 90) }}", "more than 200 lists and dicts stand within each other"},
		{"{{ ''\n|" + strings.Repeat("x", 1000) + " }}", " ... "},
		{"{{ ['at line 99: '].x.y }}", "Can't use Getitem on None"},

		// Values and arguments that do not fit.
		{"{{ 1 in 5 }}", `looks for "1" in "5"`},
		{"{{ (1, 2) + 'a' }}", `the chat template adds "(1, 2)" and "a"`},
		{"{{ 'a'|center('x') }}", "the chat template calls center"},
		{"{{ 5|join(attribute='x') }}", `goes through "5", which is no list`},
		{"{{ 5|sum(attribute='x') }}", `goes through "5", which is no list`},
		{"{{ {'a': b=1} }}", "a dict is of keys and values"},
		{"{{ messages[a=1] }}", "an index needs a value and a place"},
		{"{{ .5 }}", "an index needs a value and a place"},
		{"{{ .x() }}", "a method needs a value and a name"},
		{"{{ 5[0] }}", "Can't access an index on type int"},
		{"{{ [1][1.5] }}", "an index is neither a text nor a whole number"},
		{"{{ dict(1) }}", "dict takes one dict, and names"},
		{"{{ {}.get() }}", "get takes a key and what there is without it"},
		{"{{ {'a': 1}|items(1) }}", "the chat template calls items"},
		{"{{ 5|dictsort }}", `takes dictsort of "5", which is no dict`},
		{"{{ range() }}", "range takes 1 to 3 numbers, got 0"},
		{"{{ [1]|tojson(indent=1.5) }}", "indent is neither a number nor a text"},
		{"{{ [1]|tojson(separators=1) }}", "separators are not two texts"},
		{"{{ {(1, 2): 3}|tojson }}", "a key is neither text nor number"},
		{"{{ 'a'.split('') }}", "split needs a separator"},
		{"{{ 'a'.rsplit('') }}", "rsplit needs a separator"},
		{"{{ 'a'.count() }}", "count takes one text"},
		{"{{ 'a'.find() }}", "find and rfind take one text"},
		{"{{ 'a'.startswith(1) }}", "startswith and endswith take a text, or a tuple of texts"},
		{"{{ 'a'|replace('b') }}", "replace needs two texts"},
		{"{{ 'a'|round }}", `rounds "a", which is no number`},
		{"{{ 1 is divisibleby 0 }}", `"1" is divided by "0"`},
		{"{{ [1]|select('divisibleby', 0)|list }}", `"1" is divided by "0"`},
		{"{{ 'a'|abs }}", `calls abs: "a" is no number`},
		{"{{ 15|round(-1) }}", "a precision is a number from 0 to 20"},
		{"{{ ['inf'|float]|tojson }}", "inf and nan are not known"},
		{"{{ {" + strings.Repeat("1: 2, ", maxKeys+1) + "} }}", "a dict of more than 1024 keys"},
		{"{{ dict({}, " + many.String() + "z=1) }}", "a dict of more than 1024 keys"},
		{"{{ 'a'.strip(1) }}", "what is stripped is no text"},
		{"{{ 'a'|trim(1) }}", "calls trim: what is stripped is no text"},
		{"{{ 'a'.split(1) }}", "split needs a separator"},
		{"{{ 'a'|replace('a', 'b', 'c') }}", "calls replace: replace needs a whole number of how often"},

		// What there is not, and is given beside what there is.
		{"{{ messages|map('nosuch')|list }}", `calls map: there is no "nosuch"`},
		{"{% if [1]|map('nosuch')|list %}{% endif %}", `calls map: there is no "nosuch"`},
		{"{{ [1]|map('__plus', 1)|list }}", `calls map: there is no "__plus"`},
		{"{{ [1]|map|list }}", "calls map: a filter or an attribute is needed"},
		{"{{ [1]|map(attribute='a', x=1)|list }}", `calls map: there is no argument "x"`},
		{"{{ [1, 'a']|map('abs')|list }}", `calls abs: "a" is no number`},
		{"{{ messages|reject('nosuch')|list }}", `calls reject: there is no "nosuch"`},
		{"{{ messages|selectattr('role', 'nosuch')|list }}", `calls selectattr: there is no "nosuch"`},
		{"{{ 5|plus(3) }}", "filter 'plus' not found"},
		{"{{ 5|__plus(3) }}", `"__plus" begins with __, which is not known`},
		{"{{ 'abc'.startswith('c', 2) }}", "2 arguments are too many: at most 1 are known"},
		{"{{ 'a'.strip(1, 2, 3) }}", "3 arguments are too many"},
		{"{{ 'a'.split(sap=',') }}", `there is no argument "sap"`},
		{"{{ 'a'.split(',', sep=',') }}", `there is no argument "sep", or it is given twice`},
		{"{{ 'a'.split(',', 1, 2) }}", "3 arguments are too many"},
		{"{{ [1]|tojson(foo=1) }}", `calls tojson: there is no argument "foo"`},
		{"{{ [1]|join(sep='-') }}", `calls join: there is no argument "sep"`},
		{"{{ 'a'|title(1) }}", "calls title: 1 arguments are too many"},
		{"{{ '%s'|format(1, a=2) }}", "calls format: values by their names are not known"},
		{"{{ range(1, stop=2) }}", "range takes 1 to 3 numbers"},
		{"{{ gettext('a') }}", "gettext"},
		{"{{ 1 is even(3) }}", `tests "1": 1 arguments are too many`},
		{"{{ 1 is eq }}", `tests "1" by what takes one argument`},
		{"{{ nothing.at.all is odd }}", "Unable to evaluate nothing.at"},

		// Nothing reaches another text, a file or the environment.
		{"{% include 't' %}", "t: "},
		{"{% include '/etc/hosts' %}", "t: "},
		{"{% import '/etc/hosts' as x %}", "t: "},
		{"{% from 't' import x %}", "t: "},
		{"{% extends 't' %}", "t: "},
		{"{% block a %}{{ self.a() }}{% endblock %}", "t: "},
		{"{{ lipsum(100000000) }}", "lipsum"},
		{"{{ open('/etc/hosts') }}", "open"},
		{"{{ ''.__class__.__mro__ }}", `"__class__" begins with __`},
	} {
		tmpl, err := Parse("t", c.text, map[string]string{"bos_token": strings.Repeat("<s>", 1000)})
		if err == nil {
			_, err = tmpl.Render(talk, true)
		}
		require.ErrorContains(t, err, c.want, "%.80s", c.text)
		require.Less(t, len(err.Error()), 1000, "%.80s", c.text)
	}
}

// Products and powers that are small are what they were.
func TestProducts(t *testing.T) {
	renders(t, map[string]string{
		"{{ 'ab' * 3 }}": "ababab", "{{ 'a' * 2 * 2 ~ 'b' * 2 }}": "aaaabb", "{{ 2 + 3 * -4 - 1 }}": "-11", "{{ -2 * 3 }}": "-6", "{{ 1.5 * 2 }}": "3.0",
		"{{ 7 // 2 * 2 }}": "6", "{{ 2 * 7 // 4 % 3 }}": "0", "{{ 2 ** 3 ** 2 }}": "64", "{{ -2 ** 2 * 3 }}": "12", "{{ (1 + 2) * [4, 5][1] }}": "15",
		"{{ 2 * 'abc'|length }}": "6", "{% if 2 * 2 == 4 and not 0 * 1 %}y{% endif %}": "y", "{% for i in range(1 * 2) if i * 2 > 1 %}{{ i }}{% endfor %}": "1",
		"{{ 1 - 2 - 3 }}{{ 2 - -1 }}{{ 1 ~ 2 * 3 ~ -4 }}{{ -(1 + 2) }}{{ 'a' + 'b' ~ 'c' }}{{ [1] + [2] }}":              "-4316-4-3abc[1, 2]",
		"{{ 'a' * -1 }}|{{ 2 * 'ab' }}{{ true * 2 + true }}":                                                             "|abab3",
		"{% for x in [-1, 2] if -x + 2 > 1 %}{{ x }}{% endfor %}{% if not -1 + 1 %}y{% endif %}{{ 1 if false else -1 }}": "-1y-1",
		"{{ 'a' * 2 if 1 * 1 else 'b' * 3 }}":                                                                            "aa", "{{ (2 * 3) is divisibleby 3 }}": "True", "{%- set x = 'é*' * 2 -%} {{- x -}} ": "é*é*", "{{ 'a*b' }}*": "a*b*",
		"{{ 2**3 }} {{ 2**-1 }} {{ 2.0**2 }}": "8 0.5 4.0", "{{ '%s' % 3 }}{{ '%s-%s%%' % ('a','b') }}{{ '%d' % 2.5 }}{{ 7 % (2 + 2) }}{{ 'n%d' % -1 ~ '!' }}": "3a-b%23n-1!",
		"{% macro f(n=2 * 2) %}{{ n }}{% endmacro %}{{ f() }}{{ f(n=3*3) }}": "49",
	})
}

// An index counts from the end as in Python, to the first element and not beyond.
func TestIndexes(t *testing.T) {
	renders(t, map[string]string{
		"{{ messages[-4].role }}{{ messages[-1].content }}{{ messages[:1][-1].role }}": "systembyesystem", "{{ [1][-1] }}{{ [1,2][-2] }}{{ [1,2][-3] }}": "11",
		"{{ 'ab'[-2] }}{{ 'Hello'.split('a')[-1] }}{{ 'x|y'.split('|')[-2] }}{{ 'é'[-1] }}": "aHelloxé", "{{ messages[-5] is defined }}{{ messages[-4] is defined }}": "FalseTrue",
		"{% set i = -2 %}{{ [[1,2],[3]][i][i] }}{{ (messages[:1])[0 - 1]['role'] }}{{ {'k': [5]}['k'][-1] }}": "1system5", "{% set k = 'role' %}{{ messages[0][k] }}{{ messages[0]['ro' ~ 'le'] }}": "systemsystem",
		"{% for m in messages %}{% if not messages[loop.index0 - 1].role in ['user'] and m.role == messages[loop.index0 - 4].role %}{{ loop.index }}{% endif %}{% endfor %}": "24",
		"{% set x = messages[:1] %}{{ x[loop|default(0) - 1].role if x|length > 0 else '' }}{{ - [3][-1] }}{{ [1, 2]|last }}{{ 2 in [[2]][-1] }}":                            "system-32True",
		"{% set a = [1] %}{% for v in a[-1:] %}{{ v }}{% endfor %}{{ a[-1] * 2 if a[-1] == 1 else 0 }}":                                                                      "12",
	})
}

// A line may end wherever a space may stand, and a word that is an operator needs none.
func TestSpaces(t *testing.T) {
	renders(t, map[string]string{
		"{% set b=5 %}{{\nb }}|{{ [1,2]\n[1] }}|{{\n[1,2][\n1\n]\n}}":                                                           "5|2|2",
		"{% if\nnot\nfalse\n%}y{%\nendif\n%}{{ 1\r\n+\r2\n}}{{\n'a'\n'b'\n}}":                                                   "y3ab",
		"{{ {\n} }}x{{ {\n'a'\n:\n3\n}\n.\na\n}}{%\nset b\n=\n7\n%}{{\nb\nif\nb\nelse\n3\n}}":                                   "{}x37",
		"{{\nnone\n}}{{\nNone\n}}{{\ntrue\n}}{{ 'x'\n|\nupper\n}}":                                                              "NoneNoneTrueX",
		"{% for a\nin\n[1,2]\n%}{{\na\n}}{% endfor %}{{ 3\nis\ndefined\n}}{{ 3\nin\n[\n3\n]\n}}":                                "12TrueTrue",
		"{{-\nmessages\n[\n0\n]\n.\nrole\n-}}{{ -\n3 }}{{ 2\n**\n3 }}{{\u00a03\f}}":                                             "system-383",
		"{% if true and\n  true %}y{% endif %}{{ 3 in[3] }}{{ true and(true)or(false) }}{{ not[1] }}{{ not-1 }}{{ 3 is\n odd}}": "yTrueTrueFalseFalseTrue",
		"{# {{\n! #}{% raw %}{{\n! {% if a$ %}{%- endraw %}{{ 'in\nand'\n}}{{ '\\'in' }}{{ inside }}{{ {'or': 1}.or}}":          "{{\n! {% if a$ %}in\nand'in1",
	})
}

// What takes memory, or time, without going deep or writing is ended by the watch;
// a loop stops then.
func TestWatch(t *testing.T) {
	for _, c := range []struct {
		text, want string
		limits     limits
	}{
		{"{% set ns = namespace(x='" + strings.Repeat("x", 1<<16) + "') %}{% for i in range(1000) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}", "the chat template takes more than 16 MiB of memory", limits{time.Minute, 16 << 20}},
		{"{% for i in range(60000) %}{% for j in range(60000) %}{% endfor %}{% endfor %}", "the chat template takes more than 50ms", limits{50 * time.Millisecond, 1 << 40}},
	} {
		tmpl, err := Parse("t", c.text, nil)
		require.NoError(t, err)
		tmpl.limits = c.limits
		_, err = tmpl.Render(talk, true)
		require.EqualError(t, err, c.want, "%.80s", c.text)
	}
}

// What gonja would leave out, or take for something else, is refused.
func TestUnknown(t *testing.T) {
	for text, want := range map[string]string{
		"{{{# }}}": `t: line 1: '#' has no meaning in an expression of Jinja`, "a\r\n{{ a\n! }}": `t: line 3: '!' has no meaning in an expression of Jinja`,
		"{% if $a %}{% endif %}": `t: line 1: '$' has no meaning in an expression of Jinja`, "{{ 'a }}": `t: line 1: '\'' has no meaning in an expression of Jinja`,
		"\n{{ 1 < 2 < 3 }}": `t: line 2: a comparison of more than two values is not known: each pair needs its own`, "{{ 1 + 2 is odd }}": `t: line 1: a test beside other operators is not known: it needs brackets`,
		"{% if x %}\n{{ loop.depth }}{% endif %}": `t: line 2: loop.depth is not known`, "{{ {'a'} }}": `t: line 1: a dict needs a colon behind each key and a comma behind each value`, `{{ '\xz' }}`: `t: line 1: \x is no character`,
		"{{ [1:2] }}": `t: line 1: a colon stands in a list`, "{{ 1\n+ }}": `t: line 2: an operator lacks an operand`, "{{ 1 not in }}": `t: line 1: an operator lacks an operand`, "{{ not in [1] }}": `t: line 1: an operator lacks an operand`,
		"{% if x is %}{% endif %}": `t: line 1: an operator lacks an operand`, "{% if x is not %}{% endif %}": `t: line 1: an operator lacks an operand`,
		"{{ 1--}}": `t: line 1: an operator lacks an operand`, "{{ 1 is in (1, 2) }}": `t: line 1: a test of several values is not known: a tuple needs brackets of its own`,
		"\n{% raw %}{%- endraw x %}{% endraw %}": `t: line 2: raw text that holds an endraw is not known`, "{% raw x %}{% endraw %}": `t: line 1: raw is not known with words behind it`,
		"{{ 9007199254740993 }}": `t: line 1: a number of more than 9007199254740992 is not known`, "{{ 0xffffffffffffffffff }}": `t: line 1: a number of more than 9007199254740992 is not known`,
		"{{ 1j }}": `t: line 1: "1j }}" is no number`, "{{ 12abc }}": `t: line 1: "12abc }}" is no number`, "{{ 007 }}": `t: line 1: "007 }}" is no number`, "{{ 1. }}": `t: line 1: "1. }}" is no number`, "{{ \u0663 }}": "t: line 1: \"\u0663 }}\" is no number",
		"{% set none = 1 %}": `t: line 1: none cannot be set`, "{% for a, True in [] %}{% endfor %}": `t: line 1: True cannot be set`, "{% with none = 1 %}{% endwith %}": `t: line 1: none cannot be set`, "{% macro f(none) %}{% endmacro %}": `t: line 1: none cannot be set`,
		"{% macro f(a=1, b=2, c=b) %}{% endmacro %}":                                `t: line 1: a default that is of another parameter, b, is not known`,
		"{% macro f(a,\nb=[1, a]) %}{% endmacro %}":                                 `t: line 2: a default that is of another parameter, a, is not known`,
		"{% for x in y %}{% if x %}{% break %}{% endif %}\n{%- else %}{% endfor %}": `t: line 2: else of a loop with break is not known`, "a\n{% raw %}": `t: line 2: the template ends before what begins here`,
	} {
		_, err := Parse("t", text, nil)
		require.EqualError(t, err, want, text)
	}
}

// Whatever a template says, it is refused, or renders, and no error of gonja's is printed as a value.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"{{ 'a' if b else c }}", "{% for x in y if (z if w else [v, {'u': t}]) %}{{ x }}{% endfor %}", "{% set a = f(b=1 if c) %}",
		"{% macro f(x=1) %}{% call g() %}{% endcall %}{% endmacro %}", "{{ ( if }}", "{{ if", "{% set", "{% set a[0].b = c %}", "{{ 'é'[1:2 if a else 3] }}", "{{ ] if [ }}", "{%(%}{%)0", "{{ -a * b|f / c[d ** 2] is e 'x' * }}", "{%set\r,%}", "{{ not a + -b ~ 'c' 'd' - {}.e.0[1] // None }}", "{% set a, b = 1 %}{{ '{:>3}{a}'.format(1) }}", "{{{{{#}(}}", "{{{# }}}", "{{\na\nand\nb in[1]\n}}{% raw %}{{\n{% endraw %}",
		"{ {{- 'a\\\\' -}} {#- b +#}\n {%- raw -%} {{ {%+ endraw +%}\n", "{{ a.b(c)[0].d(e=(f,)).g() not in (h is not none) }}", "{{--1}}{{ a|map('b', c)|select('in', [1.5e3])|list }}{{ 0x1F-}}{% raw %}{%- endraw x %}{% endraw %}", "{% if a %}{% for b in c %}{% break %}{% endfor %}{% endif %}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := Parse("t", text, nil)
		if err != nil {
			return
		}
		tmpl.limits = limits{time.Second, 256 << 20}
		got, _ := tmpl.Render(talk, true)
		if strings.Contains(got, " Value>") && !strings.Contains(text, "Value") {
			t.Errorf("%q renders as %q", text, got)
		}
	})
}
