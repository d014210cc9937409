package chat

import "testing"

// What gonja has otherwise; the wanted texts are those of Jinja 3.1.6.
func TestAsPython(t *testing.T) {
	renders(t, map[string]string{
		// Texts are of characters.
		"{{ 'é'[0] }}{{ 'aé'|last }}{{ ('é'|upper)[-1] }}{{ ['é'][0][0] }}{{ 'é'[1] }}{{ 'aé'.1 }}":                            "ééÉéé",
		"{% for c in 'aé' %}{% if c == 'é' %}{{ loop.index }}{{ loop.length }}{% endif %}{% endfor %}{{ 'aé'|join('-') }}":     "22a-é",
		"{{ 'aéb'|reverse }}{{ [3, 1, 2]|reverse|list }}{{ 'éb'.find('b') }}{{ 'ébb'.rfind('b') }}{{ 'é'|map('upper')|join }}": "béa[2, 1, 3]12É",

		// Dicts are in order.
		"{{ {'b': 1, 'a': 2}|items|list }}{{ {'b': 1, 'a': 2}.items()|list }}{{ undefined|items|list }}":                                              "[('b', 1), ('a', 2)][('b', 1), ('a', 2)][]",
		"{{ {'b': 1, 'A': 2}|dictsort }}{{ {'b': 1, 'A': 2, 'a': 3}|dictsort(true) }}":                                                                "[('A', 2), ('b', 1)][('A', 2), ('a', 3), ('b', 1)]",
		"{{ {'b': 1, 'A': 2}|dictsort(reverse=true) }}{{ {'b': 2, 'A': 1}|dictsort(by='value') }}":                                                    "[('b', 1), ('A', 2)][('A', 1), ('b', 2)]",
		"{% for k, v in {'b': 1, 'a': 2}|dictsort %}{{ k }}{{ v }}{% endfor %}{{ {'b': 1, 'a': 2}.keys()|list }}{{ {'b': 1, 'a': 2}.values()|list }}": "a2b1['b', 'a'][1, 2]",
		"{{ messages[3] }}{% for k in messages[0] %}{{ k }},{% endfor %}{{ messages[3].items()|list }}":                                               "{'role': 'user', 'content': 'bye'}role,content,[('role', 'user'), ('content', 'bye')]",
		"{{ {1: 'x'}[1] }}{{ {} or 'e' }}{{ {}|length }}{{ dict({'b': 1}, a=2) }}{{ dict(a=1).a }}":                                                   "xe0{'b': 1, 'a': 2}1",
		"{{ {'b': 1, 'a': [true, none, 1.0]}|tojson }}{{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}":                                                  `{"b": 1, "a": [true, null, 1.0]}{"a": 2, "b": 1}`,
		"{{ {'b': [1, []], 'a': {}}|tojson(indent=2) }}{{ [1, 2]|tojson(separators=(';', ':')) }}":                                                    "{\n  \"b\": [\n    1,\n    []\n  ],\n  \"a\": {}\n}[1;2]",
		"{{ 'é<\n\x7f\u2028'|tojson }}{{ 'é😀'|tojson(ensure_ascii=true) }}":                                                                           "\"é<\\n\x7f\u2028\"\"\\u00e9\\ud83d\\ude00\"",
		"{{ {'a': 1}.copy() }}{{ {1: 2, none: 3}|tojson }}{{ messages[0]['a' ~ 'b'] is defined }}":                                                    "{'a': 1}{\"1\": 2, \"null\": 3}False",

		// Numbers.
		"{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 // -2 }} {{ 7 % -3 }} {{ -6 // 3 }} {{ -6 % 3 }}":           "-4 2 -4 -2 -2 0",
		"{{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 5 // 0.3 }} {{ 7 / 2 }} {{ 6 / 3 }}":       "-4.0 0.5 -0.5 16.0 3.5 2.0",
		"{% set x = -7 %}{{ x // 2 }} {{ x % 3 }} {{ -(7 // 2) }} {{ true // 2 }}":                   "-4 2 -3 0",
		"{{ true + true }} {{ 3 - true }} {{ true|int }} {{ [[1], [2]]|sum(start=[]) }}":             "2 2 1 [1, 2]",
		"{{ 2.5|round }} {{ 3|round }} {{ 2.675|round(2) }} {{ 2.1|round(0, 'ceil') }}":              "2.0 3 2.67 3.0",
		"{{ not 0 }} {{ not 1 and 1 }} {{ 1 and not 1.5 }} {{ [not not 2] }}":                        "True False False [True]",
		"{{ 6.0 % -2 }} {{ -0.0 }} {{ 4.0 // -2 }} {{ (-0.4)|round }} {{ (-0.4)|round(0, 'ceil') }}": "-0.0 -0.0 -2.0 -0.0 0.0",
		"{{ 2 - 0.5 }} {{ false + 1 }} {{ [{'n': 1}, {'n': 2}]|sum(attribute='n') }}":                "1.5 1 3",

		"{{--1}}{%if -1%}y{%endif%}{{ 0x1F }} {{ 1_000 }} {{ 1.5e-3 }} {{ 1e+2 }} {{ [1, 2].1 }} {{ 9007199254740992 }}": "-1y31 1000 0.0015 100.0 2 9007199254740992",
		"{{ '%d' % true }} {{ '{:d}'.format(true) }} {{ false|abs }} {{ -2.5|abs }} {{ 2.5|round(0, 'common') }}":        "1 1 0 2.5 2.0",
		"{{ 'inf'|float }} {{ [-('inf'|float)] }} {{ 'nan'|float }}":                                                     "inf [-inf] nan",

		// None and what is undefined.
		"{{ none }}{{ None }}{{ true }}{{ false }}{{ undefined }}{{ [none, true] }}{{ none ~ 1 }}":                                    "NoneNoneTrueFalse[None, True]None1",
		"{{ none is none }}{{ none == none }}{{ undefined == none }}{{ undefined is none }}{{ none is defined }}":                     "TrueTrueFalseFalseTrue",
		"{{ none|default('x') }}{{ undefined|default('x') }}{{ none or 'y' }}{{ none.y }}{{ ('z' if false) is defined }}":             "NonexyFalse",
		"{% set x = {'a': none} %}{{ x.a is none }}{{ x.get('b') is none }}{{ x.b is none }}{{ x.b is defined }}":                     "TrueTrueFalseFalse",
		"{% macro f(a=none) %}{{ a }}{% endmacro %}{{ f() }}{{ 'a b c'.split(none, 1)|length }}{{ [none, undefined]|join(',') }}":     "None2None,",
		"{{ []|first is defined }}{{ 0 is false }}{{ -3 is odd }}{{ 'a' is sequence }}{{ undefined is iterable }}{{ 'a' is lt 'b' }}": "FalseFalseTrueTrueTrueTrue",

		// Texts.
		`{{ "a" "b" }}{{ ["a" 'b'|upper, "c"] }}{{ 'y' if "a" "b" == 'ab' }}`:                                                         "ab['AB', 'c']y",
		"{{ 'a'|center(4) }}|{{ 'ab'|center(5) }}|{{ 'a\nb\n\nc'|indent }}{{ 'a\nb'|indent('>', true) }}":                             " a  |  ab |a\n    b\n\n    c>a\n>b",
		"{{ '{} {}'.format(1.0, none) }}{{ '{{}}{1}{0}{a}'.format(1, true, a='z') }}{{ '{:>3}{:.2f}|{:03d}'.format('a', 1.234, 7) }}": "1.0 None{}True1z  a1.23|007",
		"{{ '%s-%d%%.'|format(none, 3) }}{{ 'aaa'|replace('a', 'b', 2) }}":                                                            "None-3%.bba",
		"{{ 'a\\x0bb\\u2028c\\r\\nd\\re'|indent(1) }}":                                                                                "a\n b\n c\n d\n e",
		"{{ 'aba'.count('a') }}{{ ' a b '.rsplit() }}{{ [1, 2, 3]|batch(2)|list }}{{ messages|join(' ', attribute='role') }}":         "2['a', 'b'][[1, 2], [3]]system user assistant user",

		"{{ ['a\n']|upper }}{{ ['A\n']|lower }}{{ none|capitalize }}{{ true|upper }}{{ 'abc'|trim(chars='a') }}":                                            `['A\N']['a\n']NoneTRUEbc`,
		"{{ 'a,b,c'.split(sep=',', maxsplit=1) }}{{ [1, 2]|join(d='-') }}{{ []|map('nosuch')|list }}{{ 'aba'|replace('a', 1, count=1) }}{{ _ is defined }}": "['a', 'b,c']1-2[]1baFalse",

		// Literals, comparisons, tests and methods.
		"{{ 'a\\\\' ~ '\\\\n' ~ \"\\'\\\"\" ~ '\\x41\\u00e9\\101\\d\\\n' }}{{ \"\\\\\" }}|{{ ['\\\\'|length, '\\r' == '\\x0d'] }}":                                                                                    `a\\n'"AéA\d\|[1, True]`,
		`{{ ["it's", 'a\n\t\\', '"', 'é\u2028'] }}{{ ('a',) }}{{ (1, 'b') }}{{ 1, 2 }}{{ [undefined, ()] }}`:                                                                                                          `["it's", 'a\n\t\\', '"', 'é\u2028']('a',)(1, 'b')(1, 2)[Undefined, ()]`,
		"{{ {'a': 1, 'b': 2, 'a': 3} }}{{ {1: 'x', true: 'y'} }}{{ [1, 2,] }}{{ {'k': 'v',} }}":                                                                                                                       "{'a': 3, 'b': 2}{1: 'y'}[1, 2]{'k': 'v'}",
		"{{ true == 1 }}{{ 1 == 1.0 }}{{ '1' == 1 }}{{ 'a' in 'ab' ~ 'c' }}{{ 'b' in ' b '|trim }}{{ 2 not in [1] + [2] }}{{ 'role' in messages[0] }}{{ not 'x' in ['y'] }}":                                          "TrueTrueFalseTrueTrueFalseTrueTrue",
		"{{ 3 is odd and 2 + 1 == 3 }}{{ 'a' is in ['a'] }}{{ none is not none }}{{ -3 is odd == true }}{{ (1 + 2) is odd }}{{ 'A' is upper }}{{ '' is lower }}{{ 2.0 is even }}":                                     "TrueTrueFalseTrueTrueTrueFalseTrue",
		"{{ (messages[0].content|trim).split(' ')[0] }}{{ ('a' ~ 'b').upper() }}{{ messages[1].get('content').strip().title() }}{{ 'x'.join(['a', 'b']).upper() }}{{ ({'a': 1}).items()|list }}{{ 'b' 'c'.upper() }}": "beABHiAXB[('a', 1)]BC",
		"{% macro f(n) %}{% set n.x = n.x + 1 %}a {% endmacro %}{% set n = namespace(x=0) %}{{ f(n).strip() }}{{ n.x }}":                                                                                              "a1",
		"{{ ''.endswith('x') }}{{ 'ab'.startswith(('b', 'a')) }}{{ ' 10 '|int + ' 1.5 '|float }}{{ 'a b-c,d'|title }}{{ [1, none, 'a']|join(';') }}{{ none|trim }}":                                                   "FalseTrue11.5A B-C,d1;None;aNone",
		"{% if tools is none and documents is none %}n{% endif %}{% for t in tools|selectattr('x') %}{% endfor %}{% for k in messages[0] %}{{ loop.previtem }}{{ k }},{% endfor %}":                                   "nrole,rolecontent,",
		"{{ ['\\x07\\x7f\u0300\\U000e0001\\x80', \"'\\\"\"] }}":                                                                                                                                     `['\x07\x7f` + "\u0300" + `\U000e0001\x80', '\'"']`,
		"{{ [1, [2]] == [1.0, [2]] }}{{ [1] == [2] }}{{ [1] == [1, 2] }}{{ [1] in [[1]] }}{{ [] == {} }}{{ 1 in undefined }}":                                                                       "TrueFalseFalseTrueFalseFalse",
		"{{ {'a': 1, 'b': [2]} == {'b': [2], 'a': 1} }}{{ {'a': 1} == {'a': 2} }}{{ {'a': 1} != {'b': 1} }}{{ {} == {'a': 1} }}":                                                                    "TrueFalseTrueFalse",
		"{{ 'a' == 'a' }}{{ 'a' == 'b' }}{{ 'a' == ['a'] }}{{ undefined == undefined }}":                                                                                                            "TrueFalseFalseTrue",
		"{{ 1 is ne 2 }}{{ 2 is ge 2 }}{{ 1 is le 0 }}{{ 3 is gt 2 }}{{ true is boolean }}{{ 1 is float }}{{ true is number }}{{ range is callable }}{{ 'a' is callable }}{{ 6 is divisibleby 4 }}": "TrueTrueFalseTrueTrueFalseTrueTrueFalseFalse",
		"{% macro f(a, b=[1, 2], c=(3, 'b')) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(0) }}{{ f(0, 1, 2) }}":                                                                                       "0[1, 2](3, 'b')012",

		// Blocks are trimmed and stripped.
		"x{{ 1 }}  {% if true %}\n y {%- endif %}\n  {#- c -#}  z {% if true -%}  \n a{% endif +%}\n b": "x1   yz a\n b",
		" {%+ if true %} {% endif %}\n\n {# c #}\n d{ {{- 1 -}} } {{+2}}\n\n":                           "  \n d{1} 2\n",
		"{% raw -%} {{ x }} {%- endraw %} \n {%+ raw %} a {% endraw +%}\n{ {#- #}{ x }}":                "{{ x }} \n  a \n{{ x }}",
		"{% raw %}{% endraw %}x": "x",
		"a\n  {% set x = 1 %}\n  {% generation %}\n  b\n  {% endgeneration %}\n": "a\n  b\n",
	})
}
