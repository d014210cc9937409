package tokenizer

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"testing"
)

// ordinaryText returns about n bytes that look like prose: words by Zipf's law, numbers, punctuation and lines.
func ordinaryText(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	syllables := []string{"a", "the", "in", "er", "ou", "st", "ing", "con", "li", "mo", "ra", "é", "ti", "on", "ex", "pe", "qu", "ß"}
	words := make([]string, 30000)
	for i := range words {
		for range 1 + rng.IntN(4) {
			words[i] += syllables[rng.IntN(len(syllables))]
		}
	}
	zipf := rand.NewZipf(rng, 1.1, 3, uint64(len(words)-1))
	var out strings.Builder
	for out.Len() < n {
		switch rng.IntN(20) {
		case 0:
			out.WriteString(".\n\n")
		case 1:
			fmt.Fprintf(&out, " %d,", rng.IntN(100000))
		default:
			out.WriteString(" " + words[zipf.Uint64()])
		}
	}
	return out.String()
}

func BenchmarkEncode(b *testing.B) {
	text := ordinaryText(1 << 20)
	for name := range readGoldens(b).Goldens {
		b.Run(name, func(b *testing.B) {
			tok := openGolden(b, name)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tok.Encode(text, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodeOneWord encodes a word of a megabyte, which no cache helps with.
func BenchmarkEncodeOneWord(b *testing.B) {
	text := strings.Repeat("thequickbrownfox", 1<<16)
	tok := openGolden(b, "olmoe")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := tok.Encode(text, true); err != nil {
			b.Fatal(err)
		}
	}
}

// wideFile returns a tokenizer.json whose vocabulary has n tokens, each but the bytes' made by a merge, laid out as
// files of the hub are.
func wideFile(tb testing.TB, n int) []byte {
	tb.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	known := map[string]bool{}
	var tokens, vocab, merges []string
	add := func(token string) {
		known[token] = true
		vocab = append(vocab, fmt.Sprintf("%q: %d", token, len(tokens)))
		tokens = append(tokens, token)
	}
	for b := range 256 {
		add(string(byteRune(byte(b))))
	}
	for len(tokens) < n {
		left, right := tokens[rng.IntN(len(tokens))], tokens[rng.IntN(256)]
		if !known[left+right] {
			add(left + right)
			merges = append(merges, fmt.Sprintf("[\n        %q,\n        %q\n      ]", left, right))
		}
	}
	const byteLevel = `{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}`
	return fmt.Appendf(nil, `{"version": "1.0", "pre_tokenizer": %s, "decoder": %s, "model": {"type": "BPE", "vocab": {
      %s
    }, "merges": [
      %s
    ]}}`, byteLevel, byteLevel, strings.Join(vocab, ",\n      "), strings.Join(merges, ",\n      "))
}

func BenchmarkParse(b *testing.B) {
	data := wideFile(b, 152000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("wide.json", data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(retained(b, data))/(1<<20), "MiB-kept")
}

// retained returns the bytes that stay allocated for one Tokenizer.
func retained(b *testing.B, data []byte) uint64 {
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	tok, err := Parse("wide.json", data)
	if err != nil {
		b.Fatal(err)
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	goruntime.KeepAlive(tok)
	goruntime.KeepAlive(data)
	return after.HeapAlloc - before.HeapAlloc
}
