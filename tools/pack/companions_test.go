//go:build unix

package pack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/models/checkpoint"
)

// What would put a stranger's file into a package, wait for ever or be found out
// only when the package runs is refused before anything is written.
func TestCompanionsRefused(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte(toyTokenizer), 0o666))
	for _, c := range []struct {
		name, file string
		plant      func(path string) error
		want       string // after the checkpoint's folder
	}{
		{"link out", "tokenizer.json", func(path string) error { return os.Symlink(secret, path) },
			"/tokenizer.json: a link to " + secret + "; copy the file itself into the folder: outside the checkpoint"},
		{"link out", "tokenizer_config.json", func(path string) error { return os.Symlink(secret, path) },
			"/tokenizer_config.json: a link to " + secret + "; copy the file itself into the folder: outside the checkpoint"},
		{"link to nothing", "tokenizer.json", func(path string) error { return os.Symlink("nothing", path) },
			"/tokenizer.json: no such file or directory"},
		{"pipe", "tokenizer_config.json", func(path string) error { return unix.Mkfifo(path, 0o666) },
			"/tokenizer_config.json: not a regular file (p---------)"},
		{"directory", "tokenizer.json", func(path string) error { return os.Mkdir(path, 0o777) },
			"/tokenizer.json: not a regular file (d---------)"},
		{"large", "tokenizer_config.json", func(path string) error {
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				return err
			}
			return os.Truncate(path, 64<<20+1)
		}, "/tokenizer_config.json: 67108865 bytes, want at most 67108864"},
		{"more ids than rows", "tokenizer.json", func(path string) error {
			return os.WriteFile(path, []byte(strings.Replace(toyTokenizer, `"ab": 2`, `"ab": 96`, 1)), 0o666)
		}, ": tokenizer.json has ids up to 96, the model rows for 96 tokens: it is another model's; move the file away to pack without it and give token ids"},
		{"no tokenizer", "tokenizer.json", func(path string) error { return os.WriteFile(path, []byte(`{"model": {}}`), 0o666) },
			": tokenizer tokenizer.json: model.merges: field is missing; move the file away to pack without it and give token ids"},
		{"cut", "tokenizer.json", func(path string) error { return os.WriteFile(path, []byte(toyTokenizer[:50]), 0o666) },
			": tokenizer tokenizer.json: not JSON at byte 50: unexpected end of JSON input; move the file away to pack without it and give token ids"},
	} {
		from := smallToy().write(t)
		path := filepath.Join(from, c.file)
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, c.plant(path))
		want := "checkpoint " + from + c.want
		if c.want[0] == '/' {
			want = from + c.want
		}
		requireRefused(t, from, want, c.name+" "+c.file)
	}
}

// own is a checkpoint that holds its tokenizer.
type own struct{ checkpoint.Checkpoint }

func (own) Companion(string) ([]byte, bool, error) { return []byte(toyTokenizer), true, nil }

// A file beside a checkpoint is the remedy for a tokenizer of its own, which nobody
// can move away.
func TestOwnTokenizer(t *testing.T) {
	dir := t.TempDir()
	inside := []byte(strings.Replace(toyTokenizer, `"ab": 2`, `"ab": 96`, 1))
	const refused = "tokenizer.json has ids up to 96, the model rows for 96 tokens: it is another model's; put the model's tokenizer.json beside the file"
	got, err := tokenizerOf(own{}, dir, []byte(toyTokenizer), 96)
	require.NoError(t, err)
	require.Equal(t, toyTokenizer, string(got))

	_, err = tokenizerOf(own{}, dir, inside, 96)
	require.EqualError(t, err, "the file's own "+refused)

	beside := filepath.Join(dir, "tokenizer.json")
	require.NoError(t, os.WriteFile(beside, inside, 0o666))
	_, err = tokenizerOf(own{}, dir, inside, 96)
	require.EqualError(t, err, refused)

	require.NoError(t, os.WriteFile(beside, []byte(toyTokenizer), 0o666))
	got, err = tokenizerOf(own{}, dir, inside, 96)
	require.NoError(t, err)
	require.Equal(t, toyTokenizer, string(got))
}

// A download of the hub has links to what it keeps beside.
func TestCompanionsOfTheHub(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	want, _ := packed(t, from, options(t, "w4"))
	model := filepath.Join(t.TempDir(), "models--a--b")
	snapshot, blobs := filepath.Join(model, "snapshots", "1"), filepath.Join(model, "blobs")
	require.NoError(t, os.MkdirAll(snapshot, 0o777))
	require.NoError(t, os.CopyFS(blobs, os.DirFS(from)))
	for name := range contents(t, from) {
		require.NoError(t, os.Symlink(filepath.Join("..", "..", "blobs", name), filepath.Join(snapshot, name)))
	}
	got, _ := packed(t, snapshot, options(t, "w4"))
	requireSame(t, want, got)
}
