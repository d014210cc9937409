package pack

import (
	"errors"
	"fmt"

	"estream/runtime/chat"
)

// tryTemplate notes a chat template among the companions that cannot be used: one
// that does not parse, or refuses the simplest conversation there is.
func (j *job) tryTemplate() error {
	files := map[string][]byte{}
	for _, c := range j.companions {
		if c.name == tokenizerName {
			continue
		}
		data, err := c.read()
		if err != nil {
			return err
		}
		files[c.name] = data
	}
	t, err := chat.Open(files["tokenizer_config.json"], files["chat_template.jinja"])
	if err == nil {
		_, err = t.Render([]chat.Message{{Role: "user", Content: "Hello"}}, true)
	}
	if err != nil && !errors.Is(err, chat.ErrNone) {
		j.report.Notes = append(j.report.Notes, fmt.Sprintf("the chat template cannot be used, so run --chat will refuse it: %v", err))
	}
	return nil
}
