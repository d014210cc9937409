package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/cli"
)

const (
	tiny    = "../../testdata/olmoe"
	trained = "../../testdata/trained-small"
	goldens = tiny + "/goldens.safetensors"
)

// mainArgs names the environment variable that makes the test binary the estream
// command; its arguments are separated by newlines.
const mainArgs = "ESTREAM_TEST_ARGS"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "qnn-child" { // of a test that prepares graphs: not the tests again
		os.Exit(cli.Main(cli.Default(), os.Args[1:]))
	}
	if args, ok := os.LookupEnv(mainArgs); ok {
		os.Exit(cli.Main(cli.Default(), strings.Split(args, "\n")))
	}
	code := m.Run()
	if err := os.RemoveAll(scratch()); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// scratch is a folder for packages that tests share, and only read.
var scratch = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "estream-cli-test-")
	if err != nil {
		panic(err)
	}
	return dir
})

// A result is what a command printed and its exit code.
type result struct {
	code        int
	out, errors string
}

func run(args ...string) result {
	var out, errors bytes.Buffer
	app := cli.Default()
	app.Stdout, app.Stderr = &out, &errors
	code := cli.Main(app, args)
	return result{code, out.String(), errors.String()}
}

// ok runs a command that must succeed.
func ok(t testing.TB, args ...string) result {
	t.Helper()
	r := run(args...)
	require.Equal(t, 0, r.code, "estream %v: %s", args, r.errors)
	return r
}

// object parses what --json printed: one object on a line of its own.
func object(t testing.TB, r result) map[string]any {
	t.Helper()
	require.Equal(t, 1, strings.Count(r.out, "\n"), "lines of %q", r.out)
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(r.out), &v), r.out)
	return v
}

func requireKeys(t testing.TB, v map[string]any, keys ...string) {
	t.Helper()
	for _, k := range keys {
		require.Contains(t, v, k)
	}
}

// packed packs a checkpoint once for all tests.
func packed(t testing.TB, from, encoding string) string {
	t.Helper()
	dir := filepath.Join(scratch(), filepath.Base(from)+"-"+encoding)
	if _, err := os.Stat(dir); err != nil {
		ok(t, "pack", "--encoding", encoding, from, dir)
	}
	return dir
}

// damaged copies a package and changes a byte in the middle of a file.
func damaged(t testing.TB, dir, file string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	data, err := os.ReadFile(filepath.Join(to, file))
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(to, file), data, 0o666))
	return to
}

func TestUsageErrors(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"fly"}, `unknown command "fly": see estream --help`},
		{[]string{"--fly"}, "unknown flag: --fly: see estream --help"},
		{[]string{"run", "--fly", dir}, "unknown flag: --fly: see estream run --help"},
		{[]string{"run"}, "accepts between 1 and 2 arg(s), received 0: usage: estream run [flags] PACKAGE [PROMPT]"},
		{[]string{"run", dir}, "give one of PROMPT, --tokens, --tokens-file and --prompts-file, got 0"},
		{[]string{"run", "--tokens", "1", dir, "hello"}, "give one of PROMPT, --tokens, --tokens-file and --prompts-file, got 2"},
		{[]string{"run", "--tokens", "1,x", dir}, `--tokens: "x" is not a token id`},
		{[]string{"run", "--tokens", "1,-2", dir}, `--tokens: "-2" is not a token id`},
		{[]string{"run", "--tokens", ",", dir}, "--tokens: no token ids"},
		{[]string{"run", "--logits", "some", "--tokens", "1", dir}, `unknown --logits "some": use last, all or none`},
		{[]string{"run", "--memory", "much", "--tokens", "1", dir}, `bad size "much": write a number and KiB, MiB, GiB, KB, MB or GB, such as 1.5GiB`},
		{[]string{"run", "--memory", "0.5", "--tokens", "1", dir}, `bad size "0.5": write a number and KiB, MiB, GiB, KB, MB or GB, such as 1.5GiB`},
		{[]string{"run", "--schedule", "never", "--tokens", "1", dir}, `unknown schedule "never": use auto, before-routing, after-routing, on-demand or guessed`},
		{[]string{"run", "--readers", "-1", "--tokens", "1", dir}, "--readers=-1: want 0 (chosen) to 256"},
		{[]string{"run", "--chunk", "many", dir}, `invalid argument "many" for "--chunk" flag: strconv.ParseInt: parsing "many": invalid syntax: see estream run --help`},
		{[]string{"pack", tiny}, "accepts 2 arg(s), received 1: usage: estream pack [flags] CHECKPOINT PACKAGE"},
		{[]string{"pack", "--encoding", "w5", tiny, "p"}, `unknown encoding "w5": use one of w4, w4g32, w4g64, w4g128, w4full, w8, bf16, f32`},
		{[]string{"pack", "--workers", "-1", tiny, "p"}, "--workers=-1: want 0 (two a processor) or more"},
		{[]string{"pack", "--align", "5000", tiny, "p"}, "--align=5000 is not a power of two from 4096 to 16777216"},
		{[]string{"pack", "--align", "-4096", tiny, "p"}, "--align=-4096 is not a power of two from 4096 to 16777216"},
		{[]string{"repack", "--align", "2048", dir, "p"}, "--align=2048 is not a power of two from 4096 to 16777216"},
		{[]string{"pack", "--experts", "w5", tiny, "p"}, `unknown encoding "w5" for experts: use exact, f32, bf16, w8, w4 (w4g64), w4g32, w4g128 or w4full (w4full32)`},
		{[]string{"pack", "--embed", "w4g32", tiny, "p"}, "encoding w4g32 for embed: embeddings are read row by row and take exact, f32, bf16 or w8"},
		{[]string{"pack", "--backend", "abacus", tiny, "p"}, `unknown backend "abacus": use one of host, qnn-cpu, qnn-htp`},
		{[]string{"inspect"}, "accepts 1 arg(s), received 0: usage: estream inspect [flags] PACKAGE|CHECKPOINT"},
		{[]string{"verify", dir, dir}, "accepts 1 arg(s), received 2: usage: estream verify [flags] PACKAGE"},
		{[]string{"synth", "p"}, "--config is missing: usage: estream synth [flags] --config CONFIG PACKAGE"},
		{[]string{"synth", "--checkpoint", "--workers", "2", "--config", tiny, "p"}, "--workers is of packages, not of --checkpoint"},
		{[]string{"synth", "--checkpoint", "--dry-run", "--config", tiny, "p"}, "--dry-run is of packages, not of --checkpoint"},
		{[]string{"synth", "--dry-run", "--align", "5000", "--config", tiny}, "--align=5000 is not a power of two from 4096 to 16777216"},
		{[]string{"synth", "--dry-run", "--config", tiny, "p", "q"}, "accepts at most 1 arg(s), received 2: usage: estream synth [flags] --config CONFIG PACKAGE"},
		{[]string{"families", "x"}, `unknown command "x" for "estream families": usage: estream families [flags]`},
		{[]string{"check", dir}, "--golden is missing: usage: estream check [flags] --golden GOLDEN PACKAGE"},
		{[]string{"check", "--tolerance", "-1", "--golden", goldens, dir}, "--tolerance=-1 is no number from 0"},
		{[]string{"check", "--golden", goldens, packed(t, tiny, "w8")}, "the package has encoded weights, which differ from the golden's: give --tolerance, or pack with --encoding f32 to judge a family"},
		{[]string{"manual"}, "accepts 1 arg(s), received 0: usage: estream manual [flags] FOLDER"},
		{[]string{"help", "fly"}, `unknown command "fly": see estream --help`},
		{[]string{"completion", "csh"}, `unknown command "csh" for "estream completion": usage: estream completion [flags]`},
		{[]string{"completion", "bash", "x"}, `unknown command "x" for "estream completion bash": usage: estream completion bash`},
	} {
		require.Equal(t, result{2, "", "estream: " + c.want + "\n"}, run(c.args...), "estream %q", c.args)
	}
}

// What is asked for cannot be had: exit code 1, and the message says of what.
func TestFailures(t *testing.T) {
	dir := packed(t, tiny, "f32")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--tokens", "1", nowhere}, "nowhere"},
		{[]string{"run", "--tokens", "1", tiny}, "make a package with estream pack"},
		{[]string{"run", dir, "hello"}, "has no tokenizer.json: give token ids with --tokens"},
		{[]string{"run", "--tokens", "1,160", dir}, "prompt 0, token 1: id 160 is not in the vocabulary of 160"},
		{[]string{"run", "--memory", "1KiB", "--tokens", "1", dir}, "memory budget too small"},
		{[]string{"run", "--tokens", "1", "-o", nowhere + "/x/y", dir}, "nowhere"},
		{[]string{"run", "--tokens-file", nowhere, dir}, "nowhere"},
		{[]string{"pack", nowhere, nowhere + ".estream"}, "nowhere"},
		{[]string{"pack", tiny, dir}, "never written over"},
		{[]string{"inspect", nowhere}, "nowhere"},
		{[]string{"inspect", "--graph", "c9.body", dir}, `the package has no graph "c9.body": see estream inspect --ir`},
		{[]string{"verify", nowhere}, "nowhere"},
		{[]string{"synth", "--config", nowhere, nowhere + ".estream"}, "nowhere"},
		{[]string{"check", "--golden", nowhere + ".safetensors", dir}, "nowhere"},
		{[]string{"check", "--golden", goldens, "--prompt", "p34", dir}, "no tensor p34.input_ids"},
		{[]string{"bench", "-r", "1", nowhere}, "nowhere"},
		{[]string{"bench", "--memory", "1KiB", dir}, "prompt of 512 tokens: memory budget too small"},
		{[]string{"run", "--tokens", "1", "--trace", nowhere + "/x/y", dir}, "--trace: "},
		{[]string{"manual", dir + "/model.fb/x"}, "not a directory"},
	} {
		r := run(c.args...)
		require.Equal(t, 1, r.code, "estream %q: %s", c.args, r.errors)
		require.Empty(t, r.out, "estream %q", c.args)
		last := r.errors[strings.LastIndex("\n"+strings.TrimSuffix(r.errors, "\n"), "\n"):]
		require.True(t, strings.HasPrefix(last, "estream: "), "estream %q: %q", c.args, r.errors)
		require.Contains(t, r.errors, c.want, "estream %q", c.args)
	}
}
