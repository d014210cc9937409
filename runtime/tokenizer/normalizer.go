package tokenizer

import (
	"fmt"
	"strings"
)

// maxGrowth is how many times as long as a text its normal form may be, a few KiB apart, and a decoded token as the
// file spells it. A character of published files becomes 9 bytes at most.
const maxGrowth = 16

// mostNormal is how many bytes the normal form of a text of n bytes may have.
func mostNormal(n int) int { return maxGrowth*n + 4<<10 }

// normalizer rewrites a stretch of text between added tokens, into at most that many bytes if what it puts in is long.
type normalizer func(text string, most int) (string, error)

func normalize(steps []normalizer, text string, most int) (string, error) {
	for _, step := range steps {
		var err error
		if text, err = step(text, most); err != nil {
			return "", err
		}
		if len(text) > most {
			return "", errGrown
		}
	}
	return text, nil
}

var errGrown = fmt.Errorf("normalizer: makes a text more than %d times as long; take the model's own tokenizer.json", maxGrowth)

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
		return func(text string, _ int) (string, error) { return nfc(text), nil }, c.read(map[string]any{})
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
	return func(text string, _ int) (string, error) {
		if text == "" {
			return "", nil
		}
		return prefix + text, nil
	}
}

func replace(find matcher, content string) normalizer {
	return func(text string, most int) (string, error) {
		var out strings.Builder
		from := 0
		err := find(text, func(start, end int) error {
			if out.Len()+start-from+len(content) > most {
				return errGrown
			}
			out.WriteString(text[from:start])
			out.WriteString(content)
			from = end
			return nil
		})
		out.WriteString(text[from:])
		return out.String(), err
	}
}
