package tokenizer

import "strings"

// normalizer rewrites a stretch of text between added tokens.
type normalizer func(text string) (string, error)

func normalize(steps []normalizer, text string) (string, error) {
	for _, step := range steps {
		var err error
		if text, err = step(text); err != nil {
			return "", err
		}
	}
	return text, nil
}

func loadNormalizers(path string, value rawValue) ([]normalizer, error) {
	parts, err := components(path, value, "normalizers")
	if err != nil {
		return nil, err
	}
	var steps []normalizer
	for _, part := range parts {
		step, err := loadNormalizer(part)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func loadNormalizer(c component) (normalizer, error) {
	switch c.kind {
	case "NFC":
		return func(text string) (string, error) { return nfc(text), nil }, c.read(map[string]any{})
	case "Prepend":
		var prefix string
		err := c.read(map[string]any{"prepend": &prefix})
		return prepend(prefix), err
	case "Replace":
		var pattern rawValue
		var content string
		if err := c.read(map[string]any{"pattern": &pattern, "content": &content}); err != nil {
			return nil, err
		}
		find, err := loadPattern(c.path+".pattern", pattern)
		return replace(find, content), err
	}
	return nil, c.refuse()
}

// prepend puts prefix before a text that is not empty.
func prepend(prefix string) normalizer {
	return func(text string) (string, error) {
		if text == "" {
			return "", nil
		}
		return prefix + text, nil
	}
}

func replace(find matcher, content string) normalizer {
	return func(text string) (string, error) {
		var out strings.Builder
		from := 0
		err := find(text, func(start, end int) error {
			out.WriteString(text[from:start])
			out.WriteString(content)
			from = end
			return nil
		})
		out.WriteString(text[from:])
		return out.String(), err
	}
}
