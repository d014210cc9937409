package quality

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"estream/runtime/tokenizer"
)

// A Document is one text.
type Document struct {
	Text string `json:"text"`
}

// Read reads a file of JSON objects, one a line, such as Documents or Items.
func Read[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	for d := json.NewDecoder(f); ; {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s, object %d: %w", path, len(out), err)
		}
		out = append(out, v)
	}
}

// Blocks joins the documents' tokens, begin before each, and cuts them into
// blocks of n; what is left at the end is dropped.
func Blocks(tok *tokenizer.Tokenizer, begin int32, docs []Document, n int) ([][]int32, error) {
	var all []int32
	for i, d := range docs {
		ids, err := tok.Encode(d.Text, false)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i, err)
		}
		all = append(append(all, begin), ids...)
	}
	return slices.Collect(slices.Chunk(all[:len(all)/n*n], n)), nil
}
