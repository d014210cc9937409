package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"estream/runtime"
	"estream/runtime/tokenizer"
)

// prompts returns the token ids to run, and the tokenizer where the package has one.
func (a *App) prompts(ctx context.Context, m *runtime.Model, f runFlags, text []string) (*tokenizer.Tokenizer, [][]int32, error) {
	tok, err := openTokenizer(m)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case f.tokens != "":
		ids, err := parseTokens(f.tokens)
		if err != nil {
			return nil, nil, usagef("--tokens: %w", err)
		}
		return tok, [][]int32{ids}, nil
	case f.tokensFile != "":
		prompts, err := readTokens(ctx, f.tokensFile)
		return tok, prompts, err
	case tok == nil:
		return nil, nil, fmt.Errorf("the package has no tokenizer.json: give token ids with --tokens")
	}
	if f.promptsFile != "" {
		if text, err = readLines(ctx, f.promptsFile); err != nil {
			return nil, nil, err
		}
	}
	say := func(text string) (string, error) { return text, nil }
	if f.chat {
		if say, err = openChat(m, f.system); err != nil {
			return nil, nil, err
		}
	}
	var prompts [][]int32
	for i, t := range text {
		t, err := say(t)
		var ids []int32
		if err == nil {
			ids, err = tok.Encode(t, !f.chat) // a chat template has its own special tokens
		}
		if err == nil && len(ids) == 0 {
			err = usagef("the prompt is empty")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		prompts = append(prompts, ids)
	}
	return tok, prompts, nil
}

// openTokenizer returns the package's tokenizer, nil where it has none.
func openTokenizer(m *runtime.Model) (*tokenizer.Tokenizer, error) {
	data, err := m.Companion("tokenizer.json")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return tokenizer.Parse(m.Path("tokenizer.json"), data)
}

// noteContext tells of prompts longer than the model was trained for.
func (a *App) noteContext(m *runtime.Model, prompts [][]int32) {
	var c struct {
		Max int `json:"max_position_embeddings"`
	}
	if json.Unmarshal(m.Manifest().Config, &c) != nil || c.Max <= 0 {
		return
	}
	for i, p := range prompts {
		if len(p) > c.Max {
			a.note("note: prompt %d has %d tokens, and the model was made for %d", i, len(p), c.Max)
		}
	}
}
