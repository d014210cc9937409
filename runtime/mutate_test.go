package runtime_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/pager/layout"
	"estream/runtime"
)

// A changeable is a package whose module is replaced over and over.
type changeable struct {
	dir string
	man layout.Manifest
}

func newChangeable(t testing.TB, encoding string) *changeable {
	t.Helper()
	dir := packed(t, tiny, encoding)
	c := &changeable{dir: edited(t, dir, func(*layout.Manifest) {}), man: *open(t, dir, runtime.Options{}).Manifest()}
	return c
}

// try opens the package with another module and, where that works, runs it.
// Whatever the text, both must return; ran tells whether logits came out.
func (c *changeable) try(t testing.TB, text string) (opened, ran bool) {
	t.Helper()
	man := c.man
	man.Module = text
	data, err := layout.Encode(&man)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, layout.ManifestName), data, 0o644))
	m, err := runtime.Open(t.Context(), c.dir, runtime.Options{Memory: 1 << 30, Threads: 1})
	if err != nil {
		return false, false
	}
	defer func() { require.NoError(t, m.Close()) }()
	_, err = m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1, 2, 3}, {4}}, Logits: runtime.All})
	return true, err == nil
}

// TestMutatedModules opens packages whose module was changed at random, in
// ways that leave it well formed more often than not.
func TestMutatedModules(t *testing.T) {
	draws := 600
	if v := os.Getenv("HUNT"); v != "" {
		fmt.Sscan(v, &draws)
	}
	if testing.Short() {
		draws = 100
	}
	opened, ran := 0, 0
	for _, encoding := range []string{"w4", "f32"} {
		c := newChangeable(t, encoding)
		rng := rand.New(rand.NewPCG(hunt(), uint64(len(encoding))))
		for range draws / 2 {
			text := mutate(rng, c.man.Module)
			if os.Getenv("HUNT") != "" {
				os.WriteFile("/tmp/hunt.txt", []byte(text), 0o644)
			}
			o, r := c.try(t, text)
			if o {
				opened++
			}
			if r {
				ran++
			}
		}
	}
	t.Logf("of %d modules %d opened, %d ran", draws, opened, ran)
	require.Positive(t, ran)
	require.Less(t, opened, draws/2)
}

// FuzzOpenModule opens a package with any text for its module.
func FuzzOpenModule(f *testing.F) {
	c := newChangeable(f, "w4")
	f.Add(c.man.Module)
	f.Add("layers c0\n")
	f.Fuzz(func(t *testing.T, text string) { c.try(t, text) })
}

var (
	numbers = regexp.MustCompile(`\b[0-9]+\b`)
	words   = regexp.MustCompile(`[%\w.]+`)
)

// mutate changes a module's text in one to three places.
func mutate(rng *rand.Rand, text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for range 1 + rng.IntN(3) {
		i := rng.IntN(len(lines))
		switch rng.IntN(8) {
		case 0:
			lines = append(lines[:i], lines[i+1:]...)
		case 1:
			j := rng.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		case 2:
			extra := strings.Replace(lines[rng.IntN(len(lines))], "  %", fmt.Sprint("  %", 1+rng.IntN(2), rng.IntN(10)), 1)
			lines = append(lines[:i], append([]string{extra}, lines[i:]...)...)
		case 3:
			pool := []string{"0", "1", "2", "3", "8", "16", "32", "63", "64", "65", "160", "2147483648", "9223372036854775807"}
			lines[i] = replaceOne(rng, numbers, lines[i], pool[rng.IntN(len(pool))])
		case 4:
			symbols := []string{"T", "R", "S", "B", "L", "U", "P", "B+1", "64", "3"}
			from := symbols[rng.IntN(8)]
			lines[i] = strings.Replace(lines[i], "["+from, "["+symbols[rng.IntN(len(symbols))], 1)
		case 5:
			other := words.FindAllString(lines[rng.IntN(len(lines))], -1)
			if len(other) > 0 {
				lines[i] = replaceOne(rng, words, lines[i], other[rng.IntN(len(other))])
			}
		case 6: // of a graph's outputs, one less or one more
			for strings.TrimSpace(lines[i]) == "" || !strings.Contains(lines[i], "return") {
				i = rng.IntN(len(lines))
			}
			if f := strings.Fields(lines[i]); rng.IntN(2) == 0 && len(f) > 1 {
				lines[i] = "  " + strings.Join(f[:len(f)-1], " ")
			} else {
				lines[i] += fmt.Sprint(" %", 1+rng.IntN(12))
			}
		case 7: // one name for another, everywhere
			a, b := words.FindString(lines[i]), words.FindString(lines[rng.IntN(len(lines))])
			if _, name, ok := strings.Cut(lines[i], ":"); ok {
				a, _, _ = strings.Cut(name, " ")
			}
			if a != "" {
				lines = strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), ":"+a+" ", ":"+strings.Trim(b, "%")+" "), "\n")
			}
		}
		if len(lines) < 4 {
			break
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func replaceOne(rng *rand.Rand, re *regexp.Regexp, line, with string) string {
	at := re.FindAllStringIndex(line, -1)
	if len(at) == 0 {
		return line
	}
	p := at[rng.IntN(len(at))]
	return line[:p[0]] + with + line[p[1]:]
}

var _ = errors.Is
var _ = ir.Input

func hunt() uint64 {
	n := uint64(7)
	fmt.Sscan(os.Getenv("SEED"), &n)
	return n
}
