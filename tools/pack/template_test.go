package pack

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A chat template that run would refuse is told of, and packed.
func TestChatTemplates(t *testing.T) {
	t.Parallel()
	const told = "the chat template cannot be used, so run --chat will refuse it: "
	for _, c := range []struct{ name, text, want string }{
		{"chat_template.jinja", "{{ messages[0].content }}", ""},
		{"chat_template.jinja", "a\n{% if x %}", told + `chat_template.jinja: Unable to parse controlStructure "if": Unexpected EOF, expected tag elif or else or endif. (Line: 2, near "")`},
		{"chat_template.jinja", "\n{{ messages | odder }}", told + `chat_template.jinja: line 2, "{{ messages | odder }}": filter 'odder' not found`},
		{"tokenizer_config.json", `{"chat_template": "{{ a b }}"}`, told + `chat_template: '}}' expected here (Line: 1, near "b")`},
		{"tokenizer_config.json", `{}`, ""},
	} {
		from := smallToy().write(t)
		require.NoError(t, os.WriteFile(filepath.Join(from, c.name), []byte(c.text), 0o666))
		dir, r := packed(t, from, options(t, "w4"))
		if c.want == "" {
			require.Empty(t, r.Notes, c.text)
		} else {
			require.Equal(t, []string{c.want}, r.Notes, c.text)
		}
		require.Equal(t, c.text, contents(t, dir)[c.name])
	}
}
