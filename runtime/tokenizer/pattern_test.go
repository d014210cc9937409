package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2"
)

// trickyText returns text of characters that the patterns tell apart, in short runs.
func trickyText(rng *rand.Rand) string {
	chars := []rune(" \t\n\r\v\u0085\u00a0\u2028\u3000'aZsStTrReEvVlLmMdDſKéß中ª09½²Ⅷ٣!-_.,～。\u0301\u200d😀Ὼﬁ\x00")
	var out strings.Builder
	for range rng.IntN(12) {
		char := string(chars[rng.IntN(len(chars))])
		out.WriteString(strings.Repeat(char, 1+rng.IntN(3)))
		if rng.IntN(4) == 0 {
			out.WriteString([]string{"'s", "'Ll", " ", "\r\n", "'ſ"}[rng.IntN(5)])
		}
	}
	return out.String()
}

func matches(t *testing.T, find matcher, text string) [][2]int {
	t.Helper()
	var all [][2]int
	if err := find(text, func(start, end int) error {
		all = append(all, [2]int{start, end})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// The scanners must find what the regular expressions find.
func TestScannersAgainstEngine(t *testing.T) {
	for _, regex := range []string{
		gpt2Regex, qwen2Regex, llama3Regex, trailingSpaceRegex,
		"[\r\n]", "[a-zéß]+", "[m-sé-ωa-dnm-tS-Va٠-٩]+", `\s?[A-Za-zµÀ-ÖØ-öø-ƺΆΈ-Ί]+`, `\s?[!-/:-~～‘-‟　-。]+`,
	} {
		scan, err := compile(regex)
		if err != nil {
			t.Fatal(err)
		}
		engine, err := backtrack(regex, matchLimit)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(7, 8))
		for range 3000 {
			text := trickyText(rng)
			got, want := matches(t, scan, text), matches(t, engine, text)
			if !slices.Equal(got, want) {
				t.Fatalf("%s on %q\n got %v\nwant %v", regex, text, got, want)
			}
		}
	}
}

// The family's files must take the scanners: the engine has no bound on its time but the limit.
func TestFamiliesUseScanners(t *testing.T) {
	for regex, scanned := range map[string]bool{
		`\s?[a-z]+`: true, `[a]`: true, `[^a]+`: false, `[a-]`: false, `[-a]`: false, `[\d]+`: false, `[a][b]`: false,
		`[a]b]`: false, `[]+`: false, `[z-a]`: false, `\s+[a]`: false, `a+`: false,
	} {
		if _, ok := parseRun(regex); ok != scanned {
			t.Errorf("parseRun(%s) = %v, want %v", regex, ok, scanned)
		}
	}
}

// A search without end must end, with an error that names the pattern.
func TestMatchLimit(t *testing.T) {
	find, err := backtrack(`(x+x+)+y`, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	err = find(strings.Repeat("x", 5000), func(int, int) error { return nil })
	const want = `pattern "(x+x+)+y" on 5000 bytes of text took more than 20ms`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Long runs of one kind are where a scanner could turn quadratic: a megabyte of each would not end.
func TestScannersOnLongRuns(t *testing.T) {
	for _, regex := range []string{gpt2Regex, qwen2Regex, llama3Regex, trailingSpaceRegex, `\s?[a-z]+`, "[" + strings.Repeat("xaé", 100_000) + "]+"} {
		find, err := compile(regex)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{" ", "\n", " \n", "a", "1", "!", "'", " a", "\u3000x"} {
			text := strings.Repeat(part, 1<<20/len(part)) + "é"
			for _, m := range matches(t, find, text) {
				if m[0] >= m[1] {
					t.Fatalf("%.80s on many %q: empty match at %d", regex, part, m[0])
				}
			}
		}
	}
}

// What the engine and Oniguruma would read alike is not refused.
func TestForeign(t *testing.T) {
	for _, regex := range []string{`\s+(?!\S)`, `[^\r\n\p{L}]`, `\[a\[`, `(?:a|b)(?=c)(?<!d)(?>e)`, `a{1,3}`, `[\]a]`} {
		if got := foreign(regex); got != "" {
			t.Errorf("foreign(%s) = %q, want none", regex, got)
		}
		if _, err := regexp2.Compile(regex, regexp2.None); err != nil {
			t.Errorf("%s: %v", regex, err)
		}
	}
}
