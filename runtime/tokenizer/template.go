package tokenizer

import "fmt"

// mostAround is how many tokens may stand around a text: a file can name a long list of them over and over.
const mostAround = 1 << 10

// template is what the post-processor adds around one text's ids.
type template struct{ before, after []int32 }

func loadTemplate(path string, value rawValue, vocab *vocabulary) (template, error) {
	var t template
	parts, err := components(path, value, "processors")
	if err != nil {
		return t, err
	}
	found := false
	for _, part := range parts {
		switch {
		case part.kind == "ByteLevel": // moves offsets only
			err = part.read(map[string]any{"add_prefix_space": new(bool), "trim_offsets": new(bool), "use_regex?": new(bool)})
		case part.kind == "TemplateProcessing" && !found:
			found = true
			t, err = readTemplate(part, vocab)
		case part.kind == "TemplateProcessing":
			err = fmt.Errorf("%s: a second %s is not supported", part.path, part.kind)
		default:
			err = part.refuse()
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

// templatePart is an element of "single": one of the two is set.
type templatePart struct {
	Sequence, SpecialToken *struct {
		ID     string `json:"id"`
		TypeID int    `json:"type_id"`
	}
}

type templateToken struct {
	ID     string
	IDs    []int32
	Tokens []string
}

func readTemplate(c component, vocab *vocabulary) (template, error) {
	var t template
	var single []templatePart
	var tokens map[string]templateToken
	// pair is for two texts, which Encode never takes.
	if err := c.read(map[string]any{"single": &single, "pair?": new(rawValue), "special_tokens": &tokens}); err != nil {
		return t, err
	}
	texts := 0
	for i, part := range single {
		path := fmt.Sprintf("%s.single[%d]", c.path, i)
		switch {
		case part.Sequence != nil && part.SpecialToken == nil && part.Sequence.ID == "A" && texts == 0:
			texts++
		case part.SpecialToken != nil && part.Sequence == nil:
			ids := tokens[part.SpecialToken.ID].IDs
			if len(t.before)+len(t.after)+len(ids) > mostAround {
				return t, fmt.Errorf("%s: more than %d tokens around a text are not supported", path, mostAround)
			}
			if err := checkIDs(vocab, ids); err != nil {
				return t, fmt.Errorf("%s: special token %q %w", path, part.SpecialToken.ID, err)
			}
			if texts == 0 {
				t.before = append(t.before, ids...)
			} else {
				t.after = append(t.after, ids...)
			}
		default:
			return t, fmt.Errorf("%s: only special tokens and one sequence A are supported", path)
		}
	}
	if texts == 0 {
		return t, fmt.Errorf("%s.single: has no sequence A", c.path)
	}
	return t, nil
}

func checkIDs(vocab *vocabulary, ids []int32) error {
	if len(ids) == 0 {
		return fmt.Errorf("has no ids in special_tokens")
	}
	for _, id := range ids {
		if _, ok := vocab.token(id); !ok {
			return fmt.Errorf("has id %d, which is not in the vocabulary", id)
		}
	}
	return nil
}
