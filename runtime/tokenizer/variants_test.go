package tokenizer

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// variant is a golden file with some fields replaced, and what Hugging Face's tokenizers 0.23.3 gives for it.
type variant struct {
	Name   string
	Base   string
	Fields map[string]any // instead of the file's
	Model  map[string]any // instead of the model's
	Drop   []string       // tokens taken from the vocabulary
	Rows   []struct {
		Text    string
		IDs     []int32
		Decoded *string
	}
}

func (v variant) file(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", v.Base+".tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	maps.Copy(root, v.Fields)
	model := root["model"].(map[string]any)
	maps.Copy(model, v.Model)
	for _, token := range v.Drop {
		delete(model["vocab"].(map[string]any), token)
	}
	if data, err = json.Marshal(root); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestVariants(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "variants.json"))
	if err != nil {
		t.Fatal(err)
	}
	var variants []variant
	if err := json.Unmarshal(data, &variants); err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		t.Run(v.Name, func(t *testing.T) {
			tok, err := Parse(v.Base, v.file(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range v.Rows {
				got, err := tok.Encode(row.Text, true)
				if err != nil || !slices.Equal(got, row.IDs) {
					t.Errorf("Encode(%q)\n got %v %v\nwant %v", row.Text, got, err, row.IDs)
				}
				if row.Decoded == nil {
					continue
				}
				if got, err := tok.Decode(row.IDs); err != nil || got != *row.Decoded {
					t.Errorf("Decode(%v)\n got %q %v\nwant %q", row.IDs, got, err, *row.Decoded)
				}
			}
		})
	}
}
