package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs walk this module's parts.
const docs = "../../docs/adding-*.md"

// fenced is a block of a document: what it is of, and its text.
var fenced = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

// Each piece of Go in the documents is in the file that it names, pieces of one
// file in its order; each command prints the lines that stand behind it.
func TestDocs(t *testing.T) {
	paths, err := filepath.Glob(docs)
	require.NoError(t, err)
	require.Len(t, paths, 4)
	shown := map[string]bool{}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			w := newWalk(t, shown)
			for _, b := range fenced.FindAllStringSubmatch(string(text), -1) {
				w.block(b[1], b[2])
			}
			require.NotZero(t, w.commands, "commands")
		})
	}
	for _, file := range []string{"main.go", "phimoe/phimoe.go", "mixer/mixer.go", "mixer/reference.go", "mixer/host.go", "npz/npz.go", "npz/array.go", "count/count.go", "throttle/throttle.go"} {
		require.True(t, shown[file], "no document shows %s", file)
	}
}

// A walk goes through one document, in a folder of its own that has this module's
// testdata in it, also as NumPy would have it.
type walk struct {
	t        *testing.T
	module   string
	shown    map[string]bool // files, of all documents
	read     map[string]int  // how far into a file its pieces went
	commands int
}

func newWalk(t *testing.T, shown map[string]bool) *walk {
	t.Helper()
	module, err := os.Getwd()
	require.NoError(t, err)
	here := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(here, "testdata"), os.DirFS("testdata")))
	writeNPZ(t, tiny, filepath.Join(here, "phimoe-npz"))
	t.Chdir(here)
	return &walk{t: t, module: module, shown: shown, read: map[string]int{}}
}

func (w *walk) block(info, text string) {
	w.t.Helper()
	language, file, _ := strings.Cut(info, " ")
	switch language {
	case "go":
		w.piece(file, text)
	case "console":
		w.console(text)
	case "sh", "python": // said, not done here
	default:
		w.t.Errorf("a block of %q: want go FILE, console, sh or python", info)
	}
}

// piece finds a piece of a file behind the one before it, as whole lines.
func (w *walk) piece(file, text string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.module, file))
	require.NoError(w.t, err)
	rest := "\n" + string(data)[w.read[file]:]
	at := strings.Index(rest, "\n"+text)
	require.GreaterOrEqual(w.t, at, 0, "%s has no such piece, or not behind the one before it:\n%s", file, text)
	w.read[file] += at + len(text)
	w.shown[file] = true
}

// console runs commands and looks for what they are said to print.
func (w *walk) console(text string) {
	w.t.Helper()
	printed, command := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if args, is := strings.CutPrefix(line, "$ estream "); is {
			printed, command = ok(w.t, strings.Fields(args)...), line
			w.commands++
			continue
		}
		want := strings.ReplaceAll(regexp.QuoteMeta(line), regexp.QuoteMeta("..."), ".*")
		found := regexp.MustCompile("(?m)^" + want + "$").FindStringIndex(printed)
		require.NotNil(w.t, found, "%s prints no line %q behind those before it, but\n%s", command, line, printed)
		printed = printed[found[1]:]
	}
}
