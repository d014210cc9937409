package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"estream/runtime"
	"estream/runtime/chat"
)

// openChat returns what puts a user's words into the template of the package's
// model, after those of the system, if any.
func openChat(m *runtime.Model, system string) (func(string) (string, error), error) {
	var files [2][]byte
	for i, name := range []string{"tokenizer_config.json", "chat_template.jinja"} {
		data, err := m.Companion(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		files[i] = data
	}
	t, err := chat.Open(files[0], files[1])
	if errors.Is(err, chat.ErrNone) {
		return nil, fmt.Errorf("%w: leave --chat out, or put the model's chat_template.jinja into the checkpoint's folder and pack it again", err)
	}
	if err != nil {
		return nil, err
	}
	return func(text string) (string, error) {
		messages := []chat.Message{{Role: "user", Content: text}}
		if system != "" {
			messages = append([]chat.Message{{Role: "system", Content: system}}, messages...)
		}
		return t.Render(messages, true)
	}, nil
}
