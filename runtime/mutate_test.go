package runtime_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/layout"
	"estream/runtime"
)

// A changeable is a package whose manifest is replaced over and over.
type changeable struct {
	dir      string
	manifest []byte
	module   string
}

func newChangeable(t testing.TB, encoding string) *changeable {
	t.Helper()
	c := &changeable{dir: packed(t, tiny, encoding)}
	var err error
	c.manifest, err = os.ReadFile(filepath.Join(c.dir, layout.ManifestName))
	require.NoError(t, err)
	c.module = c.decode(t).Module
	return c
}

func (c *changeable) decode(t testing.TB) *layout.Manifest {
	t.Helper()
	m, err := layout.Decode(c.manifest)
	require.NoError(t, err)
	return m
}

// try opens the package with another manifest and, where that works, runs it.
// Whatever the manifest says, both must return.
func (c *changeable) try(t testing.TB, man *layout.Manifest) (opened bool, run error) {
	t.Helper()
	data, err := layout.Encode(man)
	if err != nil {
		return false, nil
	}
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, layout.ManifestName), data, 0o644))
	m, err := runtime.Open(t.Context(), c.dir, runtime.Options{Memory: 1 << 30, Threads: 1})
	if err != nil {
		return false, nil
	}
	defer func() { require.NoError(t, m.Close()) }()
	_, err = m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{{1, 2, 3}, {4}}, Logits: runtime.All})
	return true, err
}

func (c *changeable) tryModule(t testing.TB, text string) (opened bool, run error) {
	t.Helper()
	m := c.decode(t)
	m.Module = text
	return c.try(t, m)
}

// FuzzOpenModule opens a package with any text for its module.
func FuzzOpenModule(f *testing.F) {
	c := newChangeable(f, "w4")
	f.Add(c.module)
	f.Add("layers c0\n")
	rng := rand.New(rand.NewPCG(7, 0))
	for range 20 {
		f.Add(mutateModule(rng, c.module))
	}
	f.Fuzz(func(t *testing.T, text string) { c.tryModule(t, text) })
}

// TestMutated opens packages whose module or records were changed at random, in
// ways that leave them well formed more often than not. What opens must run, up to
// records that are elsewhere now.
func TestMutated(t *testing.T) {
	draws := 150
	if testing.Short() {
		draws = 50
	}
	for _, encoding := range []string{"w4", "f32"} {
		c := newChangeable(t, encoding)
		rng := rand.New(rand.NewPCG(7, uint64(len(encoding))))
		opened, ran := 0, 0
		count := func(open bool, run error) {
			if !open {
				return
			}
			if opened++; run == nil {
				ran++
			} else if !errors.Is(run, pager.ErrChecksum) && !strings.Contains(run.Error(), "is NaN") { // rows cut elsewhere out of good blocks
				t.Errorf("%s: opened, and does not run: %v", encoding, run)
			}
		}
		for range draws {
			count(c.tryModule(t, mutateModule(rng, c.module)))
			m := c.decode(t)
			mutateRecords(rng, m)
			count(c.try(t, m))
		}
		t.Logf("%s: of %d packages %d opened, %d ran", encoding, 2*draws, opened, ran)
		require.Positive(t, ran)
		require.Less(t, opened, draws)
	}
}

// mutateRecords changes one field of one record or of the table.
func mutateRecords(rng *rand.Rand, m *layout.Manifest) {
	records := [][]layout.Record{m.Experts, m.Dense}[rng.IntN(2)]
	r, table := &records[rng.IntN(len(records))], &m.Rows[0]
	switch rng.IntN(14) {
	case 0:
		r.Length += 64 * int64(rng.IntN(9)-4)
	case 1:
		r.Offset += m.Align * int64(rng.IntN(9)-4)
	case 2:
		r.Layer += rng.IntN(3) - 1
	case 3:
		r.Index += rng.IntN(5) - 2
	case 4:
		r.Class = records[rng.IntN(len(records))].Class
	case 5:
		r.Factors = r.Factors[:rng.IntN(len(r.Factors)+1)]
	case 6:
		r.Factors = append(r.Factors, 1)
	case 7:
		table.Rows += int64(rng.IntN(65) - 32)
	case 8:
		table.RowBytes += int64(rng.IntN(9) - 4)
	case 9:
		table.RowStride += int64(rng.IntN(65) - 4)
	case 10:
		table.RowBytes, table.RowStride, table.Rows = table.RowBytes/2, table.RowStride/2, table.Rows*2
	case 11:
		r.CRC ^= 1 << rng.IntN(32)
	case 12:
		i := rng.IntN(len(m.Experts))
		m.Experts = slices.Delete(m.Experts, i, min(i+1+rng.IntN(8), len(m.Experts)))
	case 13:
		m.Dense = m.Dense[:rng.IntN(len(m.Dense))]
	}
}

var (
	numbers = regexp.MustCompile(`\b[0-9]+\b`)
	words   = regexp.MustCompile(`[%\w.]+`)
)

// mutateModule changes a module's text in one to three places.
func mutateModule(rng *rand.Rand, text string) string {
	for range 1 + rng.IntN(3) {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(lines) < 4 {
			break
		}
		text = strings.Join(mutateLine(rng, lines), "\n")
	}
	return text + "\n"
}

func mutateLine(rng *rand.Rand, lines []string) []string {
	i, j := rng.IntN(len(lines)), rng.IntN(len(lines))
	switch rng.IntN(8) {
	case 0:
		return slices.Delete(lines, i, i+1)
	case 1:
		lines[i], lines[j] = lines[j], lines[i]
	case 2: // once more, under another number
		return slices.Insert(lines, i, strings.Replace(lines[j], "  %", fmt.Sprint("  %", 1+rng.IntN(2), rng.IntN(10)), 1))
	case 3:
		extents := strings.Fields("0 1 2 3 8 16 32 63 64 65 160 2147483648 9223372036854775807")
		lines[i] = replaceOne(rng, numbers, lines[i], extents[rng.IntN(len(extents))])
	case 4:
		extents := strings.Fields("T R S B L U P B+1 64 3")
		lines[i] = strings.Replace(lines[i], "["+extents[rng.IntN(7)], "["+extents[rng.IntN(len(extents))], 1)
	case 5:
		if other := words.FindAllString(lines[j], -1); len(other) > 0 {
			lines[i] = replaceOne(rng, words, lines[i], other[rng.IntN(len(other))])
		}
	case 6: // of a graph's outputs, one less or one more
		for n := range len(lines) {
			l := &lines[(i+n)%len(lines)]
			if f := strings.Fields(*l); len(f) < 2 || f[0] != "return" {
				continue
			} else if rng.IntN(2) == 0 {
				*l = "  " + strings.Join(f[:len(f)-1], " ")
			} else {
				*l += fmt.Sprint(" %", 1+rng.IntN(12))
			}
			break
		}
	case 7: // one name for another, everywhere
		if _, name, ok := strings.Cut(lines[i], ":"); ok {
			name, _, _ = strings.Cut(name, " ")
			other := strings.Trim(words.FindString(lines[j]), "%")
			return strings.Split(strings.ReplaceAll(strings.Join(lines, "\n"), ":"+name+" ", ":"+other+" "), "\n")
		}
	}
	return lines
}

func replaceOne(rng *rand.Rand, re *regexp.Regexp, line, with string) string {
	at := re.FindAllStringIndex(line, -1)
	if len(at) == 0 {
		return line
	}
	p := at[rng.IntN(len(at))]
	return line[:p[0]] + with + line[p[1]:]
}
