package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No output takes the place of a file that its command reads, by whatever name.
func TestOutputsSpareInputs(t *testing.T) {
	pkg, folder := packed(t, tiny, "w4"), t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	text, err := os.ReadFile(tiny + "/config.json")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(at("ck"), 0o777))
	require.NoError(t, os.CopyFS(at("copy"), os.DirFS(pkg)))
	pkg = at("copy")
	require.NoError(t, os.Mkdir(filepath.Join(pkg, "in"), 0o777))
	for _, name := range []string{"config.json", "ck/config.json", "ck/model.safetensors", "blob"} {
		require.NoError(t, os.WriteFile(at(name), text, 0o666))
	}
	require.NoError(t, os.WriteFile(at("ids"), []byte("1,2,3\n"), 0o666))
	require.NoError(t, os.Symlink(at("ids"), at("link")))
	require.NoError(t, os.Symlink(at("blob"), at("ck/weights.safetensors")))
	ok(t, "run", "--tokens", "1,2,3", "--trace", at("trace.json"), pkg)
	for _, c := range []struct{ file, args, want string }{
		{"config.json", "export -o config.json config.json", "--output: @config.json is what the command reads: name another\n"},
		{"ids", "run --tokens-file ids -o ids PKG", "--output: @ids is what"},
		{"ids", "run --tokens-file ids -o link PKG", "--output: @ids is what"},
		{"ids", "run --tokens-file link --trace ids PKG", "--trace: @link is what"},
		{"ids", "run --prompts-file ids -o ids PKG", "--output: @ids is what"},
		{"ids", "calibrate PKG --text config.json ids -o ids", "--output: @ids is what"},
		{"ids", "calibrate PKG --tokens-file ids -o link", "--output: @ids is what"},
		{"trace.json", "trace -o trace.json trace.json", "--output: @trace.json is what"},
		{"config.json", "synth --dry-run --config config.json --html config.json", "--html: @config.json is what"},
		{"ck/model.safetensors", "synth --dry-run --config ck --html ck/model.safetensors", "lies in the folder @ck, which the command reads: name another place\n"},
		{"blob", "synth --dry-run --config ck --html blob", "--html: @ck/weights.safetensors is what"},
		{"config.json", "export -o PKG/in/new.dot config.json", "lies in the package "},
		{"blob", "export -o blob ck", "--output: @ck/weights.safetensors is what"},
	} {
		before, err := os.ReadFile(at(c.file))
		require.NoError(t, err)
		args := strings.Fields(c.args)
		for i, a := range args {
			if _, err := os.Lstat(at(a)); err == nil {
				args[i] = at(a)
			} else {
				args[i] = strings.ReplaceAll(a, "PKG", pkg)
			}
		}
		r := run(args...)
		require.Equal(t, 2, r.code, "%s: %s", c.args, r.errors)
		require.Contains(t, r.errors, strings.ReplaceAll(c.want, "@", folder+"/"), c.args)
		after, err := os.ReadFile(at(c.file))
		require.NoError(t, err)
		require.Equal(t, before, after, c.args)
	}
	ok(t, "synth", "--dry-run", "--config", at("config.json"), "--html", at("page.html"))
}

// A link whose file is still to be leads there, over further links, and stays a link; one
// that leads to itself is refused.
func TestOutputLinks(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	require.NoError(t, os.MkdirAll(at("a/b"), 0o777))
	for link, to := range map[string]string{"into": at("a/b"), "first": "into/second", "a/b/second": "../new.dot", "loop": "loop", "lost": "none/x"} {
		require.NoError(t, os.Symlink(to, at(link)))
	}
	ok(t, "export", "-o", at("first"), tiny)
	require.FileExists(t, at("a/new.dot"))
	for _, link := range []string{"first", "a/b/second"} {
		_, err := os.Readlink(at(link))
		require.NoError(t, err, link)
	}
	for link, want := range map[string]string{"loop": "too many", "lost": "mkdir -p " + at("none") + ":"} {
		r := run("export", "-o", at(link), tiny)
		require.Equal(t, 1, r.code, link)
		require.Contains(t, r.errors, want, link)
		_, err := os.Readlink(at(link))
		require.NoError(t, err, link)
	}
}

// What prints its results, too, says where it wrote a page or a plot.
func TestOutputsTold(t *testing.T) {
	ownCache(t)
	pkg, folder := packed(t, tiny, "w4"), t.TempDir()
	page, plot := filepath.Join(folder, "p.html"), filepath.Join(folder, "p.svg")
	require.Equal(t, "page written to "+page+"\n", ok(t, "inspect", "--html", page, pkg).errors)
	require.Contains(t, ok(t, "synth", "--dry-run", "--html", page, "--config", tiny).errors, "page written to "+page+"\n")
	require.Contains(t, ok(t, "plan", "--tokens", "8", "--plot", plot, pkg).errors, "plot written to "+plot+"\n")
}
