package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goldens are what Hugging Face's tokenizers library gives for the strings with each of the files.
type goldens struct {
	Strings []string
	Goldens map[string][]golden
}

type golden struct {
	IDs        []int32 `json:"ids"`
	NoSpecial  []int32 `json:"ids_nospecial"`
	Tokens     []string
	DecodedAll string `json:"decoded_all"`
}

func readGoldens(t testing.TB) goldens {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "goldens.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g goldens
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Strings) != 69 || len(g.Goldens) != 6 {
		t.Fatalf("goldens.json: %d strings for %d tokenizers, want 69 for 6", len(g.Strings), len(g.Goldens))
	}
	return g
}

func openGolden(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Open(filepath.Join("testdata", name+".tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestGoldens(t *testing.T) {
	g := readGoldens(t)
	for name, rows := range g.Goldens {
		t.Run(name, func(t *testing.T) {
			tok := openGolden(t, name)
			for i, want := range rows {
				checkGolden(t, tok, g.Strings[i], want)
			}
		})
	}
}

func checkGolden(t *testing.T, tok *Tokenizer, text string, want golden) {
	t.Helper()
	for special, want := range map[bool][]int32{true: want.IDs, false: want.NoSpecial} {
		got, err := tok.Encode(text, special)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Encode(%q, %v)\n got %v %v\nwant %v", text, special, got, err, want)
		}
	}
	for i, id := range want.IDs {
		if got, ok := tok.Token(id); !ok || got != want.Tokens[i] {
			t.Errorf("Token(%d) = %q %v, want %q", id, got, ok, want.Tokens[i])
		}
	}
	got, err := tok.Decode(want.IDs)
	if err != nil || got != want.DecodedAll {
		t.Errorf("Decode of %q\n got %q %v\nwant %q", text, got, err, want.DecodedAll)
	}
	if got := streamed(tok, want.IDs); got != want.DecodedAll {
		t.Errorf("Stream of %q\n got %q\nwant %q", text, got, want.DecodedAll)
	}
}

func streamed(tok *Tokenizer, ids []int32) string {
	var out strings.Builder
	s := tok.Stream()
	for _, id := range ids {
		out.WriteString(s.Push(id))
	}
	return out.String() + s.Flush()
}
