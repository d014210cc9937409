package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// talking makes a package with a tokenizer and more files beside it.
func talking(t testing.TB, files map[string]string) string {
	t.Helper()
	from := t.TempDir()
	text, err := os.ReadFile(filepath.Join(tiny, "config.json"))
	require.NoError(t, err)
	var config map[string]any
	require.NoError(t, json.Unmarshal(text, &config))
	config["vocab_size"] = 2048
	text, err = json.Marshal(config)
	require.NoError(t, err)
	tokenizer, err := os.ReadFile(filepath.Join(trained, "tokenizer.json"))
	require.NoError(t, err)
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(from, name), data, 0o666))
	}
	write("config.json", text)
	write("tokenizer.json", tokenizer)
	for name, data := range files {
		write(name, []byte(data))
	}
	dir := filepath.Join(t.TempDir(), "talking")
	ok(t, "synth", "--config", from, dir)
	return dir
}

// quoted is a text as JSON has it.
func quoted(t testing.TB, text string) string {
	t.Helper()
	b, err := json.Marshal(text)
	require.NoError(t, err)
	return string(b)
}

const turns = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"

// A prompt goes through the model's chat template: of tokenizer_config.json the one
// named default, or chat_template.jinja, which wins.
func TestRunChat(t *testing.T) {
	list := `{"bos_token": "<B>", "chat_template": [{"name": "tool_use", "template": "no"}, {"name": "default", "template": ` + quoted(t, turns) + `}]}`
	inConfig := talking(t, map[string]string{"tokenizer_config.json": list})
	require.Regexp(t, `^prompt  "\[user\]hi\[assistant\]", \d+ tokens\n`, ok(t, "run", "--chat", inConfig, "hi").out)
	require.Regexp(t, `^prompt  "\[system\]Be brief\.\[user\]hi\[assistant\]", \d+ tokens\n`, ok(t, "run", "--chat", "--system", "Be brief.", inConfig, "hi").out)

	apart := talking(t, map[string]string{"tokenizer_config.json": list, "chat_template.jinja": "{{ bos_token }}" + turns})
	require.Regexp(t, `^prompt  "<B>\[user\]hi\[assistant\]", \d+ tokens\n`, ok(t, "run", "--chat", apart, "hi").out)

	// Each line of a file is what a user says, in a conversation of its own.
	file := filepath.Join(t.TempDir(), "prompts.txt")
	require.NoError(t, os.WriteFile(file, []byte("one\ntwo\n"), 0o666))
	alone := object(t, ok(t, "run", "--chat", "--json", apart, "two"))
	both := object(t, ok(t, "run", "--chat", "--json", "--prompts-file", file, apart))
	require.Len(t, both["prompt_tokens"], 2)
	require.Equal(t, alone["prompt_tokens"].([]any)[0], both["prompt_tokens"].([]any)[1])
	require.Equal(t, alone["top_tokens"].([]any)[0], both["top_tokens"].([]any)[1])
}

// What is missing or wrong is told with its remedy.
func TestRunChatRefused(t *testing.T) {
	const remedy = ": leave --chat out, or put the model's chat_template.jinja into the checkpoint's folder and pack it again\n"
	fails := func(want, dir, prompt string) {
		t.Helper()
		require.Equal(t, result{1, "", "estream: " + want}, run("run", "--chat", dir, prompt))
	}
	none := talking(t, nil)
	fails("no chat template"+remedy, none, "hi")
	for _, args := range [][]string{{"--chat", "--tokens", "1", none}, {"--chat", "--tokens-file", "x", none}, {"--system", "s", none, "hi"}} {
		require.Equal(t, result{2, "", "estream: --chat is for prompts of text, and --system for --chat\n"}, run(append([]string{"run"}, args...)...))
	}
	unnamed := talking(t, map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "rag", "template": "x"}]}`})
	fails("tokenizer_config.json: chat_template: none of 1 templates is named default: no chat template"+remedy, unnamed, "hi")

	hostile := talking(t, map[string]string{"chat_template.jinja": `{% macro f() %}{{ f() }}{% endmacro %}{% set said = messages[0].content %}
		{%- if said == 'raise' %}{{ raise_exception('only a system may speak') }}{% elif said == 'recurse' %}{{ f() }}{% elif said == 'open' %}{{ open('/etc/hosts') }}{% endif -%}`})
	fails("prompt 0: the chat template refuses these messages: only a system may speak\n", hostile, "raise")
	require.Regexp(t, `^estream: prompt 0: chat_template.jinja: line 1, ".*": the chat template goes more than 200 macros, loops and calls deep\n$`, run("run", "--chat", hostile, "recurse").errors)
	require.Equal(t, result{2, "", "estream: prompt 0: the prompt is empty\n"}, run("run", "--chat", hostile, "hi"))
	require.Regexp(t, `^estream: prompt 0: chat_template.jinja: line 2, ".*open.*": open is not callable\n$`, run("run", "--chat", hostile, "open").errors)
	fails("the package has no tokenizer.json: give token ids with --tokens\n", packed(t, tiny, "f32"), "hi")
}

// A GGUF file's template is that of the package.
func TestRunChatGGUF(t *testing.T) {
	const name = "olmoe-tiny-Q8_0.gguf"
	data, err := os.ReadFile("../../testdata/gguf/" + name)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, withPair(data, "tokenizer.chat_template", turns), 0o666))
	dir := filepath.Join(t.TempDir(), "package")
	ok(t, "pack", file, dir)
	require.Regexp(t, `^prompt  "\[user\]hi\[assistant\]", \d+ tokens\n`, ok(t, "run", "--chat", dir, "hi").out)
}

// withPair adds a text to the metadata of a GGUF file, and a comment so long that the
// tensors stay aligned.
func withPair(data []byte, key, text string) []byte {
	const header, align, isText = 24, 32, 8 // magic, version, two counts
	le := binary.LittleEndian
	size := 8 + len(key) + 4 + 8 + len(text) + len("{##}")
	text += "{#" + strings.Repeat(" ", (align-size%align)%align) + "#}"
	pair := append(le.AppendUint64(nil, uint64(len(key))), key...)
	pair = le.AppendUint32(pair, isText)
	pair = append(le.AppendUint64(pair, uint64(len(text))), text...)
	out := bytes.Clone(data[:header])
	le.PutUint64(out[16:], le.Uint64(out[16:])+1)
	return append(append(out, pair...), data[header:]...)
}
