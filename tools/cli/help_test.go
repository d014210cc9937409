package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// commands are all commands of the program, cobra's own for completion apart.
func commands(a *App) []*cobra.Command {
	return slices.DeleteFunc(a.root().Commands(), func(c *cobra.Command) bool { return c.Name() == "completion" })
}

func command(args ...string) (code int, out, errors string) {
	var o, e bytes.Buffer
	app := Default()
	app.Stdout, app.Stderr = &o, &e
	return Main(app, args), o.String(), e.String()
}

// Every command says what it is for, and prints JSON if asked.
func TestCommands(t *testing.T) {
	_, help, _ := command("--help")
	for _, c := range commands(Default()) {
		require.NotEmpty(t, c.Short, c.Name())
		if c.Name() == qnnChild { // for estream itself
			continue
		}
		require.NotEmpty(t, c.Long+c.Example, c.Name())
		require.Contains(t, help, "\n  "+c.Name()+" ", c.Name())
		code, out, _ := command("help", c.Name())
		_, same, _ := command(c.Name(), "--help")
		require.Equal(t, []any{0, same}, []any{code, out}, c.Name())
		if c.Name() != "help" && !c.Hidden {
			require.NotNil(t, c.Flags().Lookup("json"), "%s has no --json", c.Name())
		}
	}
}

// Examples have the flags and the number of arguments that commands take.
func TestExamples(t *testing.T) {
	all := append(commands(Default()), Default().root())
	for _, c := range all {
		for _, line := range strings.Split(c.Example, "\n") {
			words := split(t, strings.TrimSpace(line))
			if len(words) == 0 || words[0] == "man" {
				continue
			}
			require.Equal(t, "estream", words[0], "example of %s: %s", c.Name(), line)
			cmd, rest, err := Default().root().Find(words[1:])
			require.NoError(t, err, line)
			require.NoError(t, cmd.ParseFlags(rest), "example of %s: %s", c.Name(), line)
			if cmd.Args != nil {
				require.NoError(t, cmd.Args(cmd, cmd.Flags().Args()), "example of %s: %s", c.Name(), line)
			}
		}
	}
}

// split cuts a line at spaces outside double quotes.
func split(t testing.TB, line string) []string {
	t.Helper()
	var out []string
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	require.Zero(t, strings.Count(line, `"`)%2, line)
	return out
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, errors := command("completion", shell)
		require.Equal(t, 0, code, shell)
		require.Empty(t, errors, shell)
		require.Contains(t, out, "estream", shell)
	}
	const words, filter, folders, none = "\n:36\n", "safetensors\n:8\n", ":16\n", ":4\n"
	for _, c := range []struct {
		line string // the last word is completed
		want string
	}{
		{"run --logits |", "last\nall\nnone" + words},
		{"run --schedule |", "auto\nbefore-routing\nafter-routing\non-demand\nguessed" + words},
		{"run |", folders},
		{"run p |", none},
		{"run --chunk |", none},
		{"run --tokens-file |", ":0\n"},
		{"run --output |", filter},
		{"pack |", "safetensors\ngguf\n:8\n"},
		{"pack c |", folders},
		{"pack --embed |", "exact\nf32\nbf16\nw8" + words},
		{"repack p |", folders},
		{"repack --backend |", "host\nqnn-cpu\nqnn-htp" + words},
		{"check --backend |", "host\nqnn-cpu\nqnn-htp" + words},
		{"bench --source |", "file" + words},
		{"inspect |", folders},
		{"verify |", folders},
		{"verify p |", none},
		{"check --golden |", filter},
		{"synth --config |", "json\n:8\n"},
		{"families |", none},
		{"backends |", none},
		{"bench |", folders},
		{"bench --output |", "md\ncsv\njson\njsonl\nbenchstat" + words},
		{"bench --model |", folders},
		{"bench --trace |", "json\n:8\n"},
		{"bench --n-prompt |", none},
		{"help ver|", "verify\tRead a whole package and compare every checksum\n:4\n"},
	} {
		args := strings.Split(strings.TrimSuffix(c.line, "|"), " ")
		code, out, _ := command(append([]string{"__complete"}, args...)...)
		require.Equal(t, []any{0, c.want}, []any{code, out}, "%q", c.line)
	}
}

func TestManual(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	code, out, _ := command("manual", dir)
	require.Equal(t, 0, code)
	require.Regexp(t, `^\S+man1: \d+ pages, see man -l \S+/estream.1\n$`, out)
	for _, c := range commands(Default()) {
		if c.Name() != "help" && !c.Hidden {
			require.FileExists(t, filepath.Join(dir, "estream-"+c.Name()+".1"))
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "estream-verify.1"))
	require.NoError(t, err)
	for _, want := range []string{"ESTREAM-VERIFY", "Read a whole package and compare every checksum", "\\fB--json\\fP", "estream verify olmoe.estream", "estream(1)"} {
		require.Contains(t, string(page), want)
	}

	code, out, _ = command("manual", "--json", dir)
	require.Equal(t, 0, code)
	require.Contains(t, out, "estream-verify.1")
}

// What is spelled nearly right is named.
func TestSuggestions(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"pakc", `unknown command "pakc": did you mean pack?`},
		{"help pakc", `unknown command "pakc": did you mean pack?`},
		{"pack --encodin w8 a b", "unknown flag: --encodin: did you mean --encoding?"},
		{"pack --ignroe-index a b", "unknown flag: --ignroe-index: did you mean --ignore-index?"},
		{"pack --ngl a b", "unknown flag: --ngl: see estream pack --help"},
		{"pack -z a b", "unknown shorthand flag: 'z' in -z: see estream pack --help"},
	} {
		code, out, errors := command(strings.Split(c.line, " ")...)
		require.Equal(t, []any{2, "", "estream: " + c.want + "\n"}, []any{code, out, errors}, c.line)
	}
}

// A bench that measured nothing prints nothing, in any format.
func TestBenchOfNothing(t *testing.T) {
	for _, format := range []string{"md", "csv", "json", "jsonl", "benchstat"} {
		code, out, errors := command("bench", "--output", format, filepath.Join(t.TempDir(), "nosuch"))
		require.Equal(t, []any{1, ""}, []any{code, out}, "%s: %s", format, errors)
	}
}

// Only a terminal gets colours.
func TestColours(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	require.False(t, (&App{Stdout: w}).colours())
	require.False(t, (&App{Stdout: &bytes.Buffer{}}).colours())
}
