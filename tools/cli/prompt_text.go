package cli

import (
	"fmt"
	"slices"
	"strings"

	"estream/runtime/tokenizer"
)

// mostShown is how many characters of a prompt are printed.
const mostShown = 200

// promptText is the start of a prompt, its text in quotes. Ids of the model that the
// tokenizer has no token for stand as numbers.
func promptText(tok *tokenizer.Tokenizer, ids []int32) string {
	var parts []string
	for shown := 0; len(ids) > 0; {
		if shown >= mostShown {
			parts = append(parts, "...")
			break
		}
		n := slices.IndexFunc(ids, func(id int32) bool { _, ok := tok.Token(id); return !ok })
		if n == 0 {
			part := fmt.Sprintf("token %d", ids[0])
			parts, ids, shown = append(parts, part), ids[1:], shown+len(part)
			continue
		}
		if n < 0 {
			n = len(ids)
		}
		text, _ := tok.Decode(ids[:n]) // each has a token
		parts, ids = append(parts, fmt.Sprintf("%q", clip(text, mostShown-shown))), ids[n:]
		shown += len([]rune(text))
	}
	return strings.Join(parts, " ")
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "..."
}
