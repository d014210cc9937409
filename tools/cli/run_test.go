package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
)

// The fields that other tools read.
func TestRunJSON(t *testing.T) {
	v := object(t, ok(t, "run", "--json", "--tokens", "5,6,7", packed(t, tiny, "w4g32")))
	requireKeys(t, v, "prompt_tokens", "top_tokens", "ttft_s", "tio_s", "texec_s", "bubble_estimate", "bytes_read",
		"pool_bytes", "arena_bytes", "plan_bytes", "peak_bytes", "q", "b", "g")
	require.Equal(t, []any{[]any{5.0, 6.0, 7.0}}, v["prompt_tokens"])
	top := v["top_tokens"].([]any)[0].([]any)
	require.Len(t, top, 5)
	before := 2.0
	for _, c := range top {
		c := c.(map[string]any)
		requireKeys(t, c, "id", "text", "prob", "logit")
		require.LessOrEqual(t, c["prob"], before)
		before = c["prob"].(float64)
	}
	for _, k := range []string{"ttft_s", "bytes_read", "pool_bytes", "arena_bytes", "plan_bytes", "q", "b", "g"} {
		require.Greater(t, v[k], 0.0, k)
	}
}

// A prompt is read by the package's tokenizer, and the tokens are shown as text.
func TestRunPrompt(t *testing.T) {
	dir := packed(t, trained, "w8")
	r := ok(t, "run", dir, "It is a truth universally acknowledged, that a single man")
	require.Regexp(t, `^prompt  "It is a truth universally acknowledged, that a single man", \d+ tokens
next +\d+\.\d %  ".+"
( +\d+\.\d %  ".+"
){4}time    [0-9.]+ s to the first token from process start; .* reading, .* computing, bubble estimate .* %
memory  peak .*, planned .*; arena .*, experts of one layer .*, of all .*
read    .* in \d+ reads, .* of it unneeded; Q=2 B=\d+ G=\d+
$`, r.out)
	require.True(t, strings.HasPrefix(r.errors, "plan: "), r.errors)
	v := object(t, ok(t, "run", "--json", dir, "It is"))
	require.NotEmpty(t, v["top_tokens"].([]any)[0].([]any)[0].(map[string]any)["text"])

	r = run("run", dir, "")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, "the prompt is empty")
}

// What runs once keeps no weights for a later run, whatever the budget; what runs again does.
func TestRunOnce(t *testing.T) {
	ownCache(t)
	dir := packed(t, tiny, "w4")
	for _, args := range [][]string{{"run", "--tokens", "1,2,3"}, {"trace", "--tokens", "1,2,3"}} {
		r := ok(t, append(args, "--memory", "1GiB", dir)...)
		require.Regexp(t, `(?m)^plan: .* MiB for 3 tokens`, r.errors, args)
		require.NotContains(t, r.errors, "pins", args)
	}
	require.Contains(t, ok(t, "bench", "-p", "3", "-r", "1", "--progress", "--memory", "1GiB", dir).errors, "pins")
	kept := func(args ...string) float64 {
		p := object(t, ok(t, append(args, "--tokens", "3", "--memory", "1GiB", "--json", dir)...))["plans"].([]any)[0].(map[string]any)
		return p["mapped_bytes"].(float64) - p["arena_bytes"].(float64)
	}
	require.Positive(t, kept("plan"))
	require.Zero(t, kept("plan", "--once"))
}

// A file of tokens is a batch, whose logits come as a safetensors file.
func TestRunOutput(t *testing.T) {
	ids, _ := tensor(t, goldens, "batch.input_ids")
	lines := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(lines, []byte(joined(ids[:9], ",")+"\r\n"+joined(ids[9:18], " ")+"\n"+joined(ids[18:], ", ")+"\n\n"), 0o666))
	want, _ := tensor(t, goldens, "batch.logits")
	const vocab, length = 160, 9
	for _, c := range []struct {
		logits  string
		offsets []float32
	}{{"last", []float32{0, 1, 2, 3}}, {"all", []float32{0, 9, 18, 27}}, {"none", []float32{0, 0, 0, 0}}} {
		out := filepath.Join(t.TempDir(), "out.safetensors")
		v := object(t, ok(t, "run", "--json", "--tokens-file", lines, "--logits", c.logits, "-o", out, packed(t, tiny, "f32")))
		offsets, _ := tensor(t, out, "offsets")
		require.Equal(t, c.offsets, offsets, c.logits)
		rows := int(offsets[3])
		if rows == 0 {
			require.Nil(t, v["top_tokens"], c.logits)
			continue
		}
		got, shape := tensor(t, out, "logits")
		require.Equal(t, []int{rows, vocab}, shape, c.logits)
		require.Len(t, v["top_tokens"], 3, c.logits)
		for row := range rows {
			at := row
			if c.logits == "last" {
				at = (row+1)*length - 1
			}
			for i, x := range got[row*vocab : (row+1)*vocab] {
				require.InDelta(t, want[at*vocab+i], x, 1e-4, "--logits %s, row %d, element %d", c.logits, row, i)
			}
		}
		require.NoFileExists(t, out+".partial")
	}
}

// tensor reads a whole tensor of a safetensors file.
func tensor(t testing.TB, path, name string) ([]float32, []int) {
	t.Helper()
	ck, err := checkpoint.Open(path, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer ck.Close()
	for _, x := range ck.Tensors() {
		if x.Name != name {
			continue
		}
		n := 1
		for _, d := range x.Shape {
			n *= d
		}
		out := make([]float32, n)
		require.NoError(t, ck.Read(t.Context(), name, 0, x.Shape[0], out))
		return out, x.Shape
	}
	t.Fatalf("%s has no tensor %s", path, name)
	return nil, nil
}

// joined writes ids as a line of a file of tokens.
func joined(ids []float32, sep string) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprint(int(id)))
	}
	return strings.Join(parts, sep)
}

func TestTokensFileErrors(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for _, c := range []struct{ text, want string }{
		{"1,2\n3,four\n", `, line 2: "four" is not a token id`},
		{"1,2\n\n3\n", ", line 2: it is empty, and each line is a prompt"},
		{"1,2\n-3\n", `, line 2: "-3" is not a token id`},
		{"99999999999\n", `, line 1: "99999999999" is not a token id`},
		{"1\n,,\n", ", line 2: no token ids"},
		{"\n \n", ", line 1: it is empty, and each line is a prompt"},
		{"", ", line 1: it is empty, and each line is a prompt"},
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o666))
		require.Equal(t, result{1, "", "estream: " + path + c.want + "\n"}, run("run", "--tokens-file", path, dir), "%q", c.text)
	}
}

// Whatever the memory, schedule, readers, banks, groups, chunks and threads, the
// likeliest tokens and their logits are the same.
func TestRunFlags(t *testing.T) {
	dir, tokens := packed(t, tiny, "w8"), []string{"run", "--json", "--tokens", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18"}
	want := object(t, ok(t, append(tokens, dir)...))["top_tokens"]
	for _, flags := range [][]string{
		{"--memory", "1GiB"}, {"--schedule", "on-demand"}, {"--schedule", "after-routing"}, {"--schedule", "guessed"}, {"--schedule", "before-routing"}, {"--readers", "1"},
		{"--banks", "1", "--group", "1"}, {"--group", "4"}, {"--chunk", "5"}, {"--threads", "1"},
		{"--checksum", "first"}, {"--checksum", "off"},
	} {
		v := object(t, ok(t, append(append(tokens, flags...), dir)...))
		require.Equal(t, want, v["top_tokens"], "%v", flags)
	}
	v := object(t, ok(t, append(tokens[:2:2], "--tokens", "1,2,3", dir)...))
	require.Equal(t, "guessed", v["schedule"], "3 tokens touch few experts")
	require.Greater(t, v["guess_hits"], 0.0)
	v = object(t, ok(t, append(tokens, "--readers", "3", "--banks", "2", "--group", "2", dir)...))
	require.Equal(t, []any{3.0, 2.0, 2.0}, []any{v["q"], v["b"], v["g"]})
}

// Both files together are read no faster than the limit.
func TestReadLimit(t *testing.T) {
	dir := packed(t, tiny, "w8")
	begun := time.Now()
	v := object(t, ok(t, "run", "--json", "--tokens", "1,2,3", "--read-limit", "1MB/s", dir))
	require.Greater(t, time.Since(begun).Seconds(), v["bytes_read"].(float64)/1e6-0.01)
	for value, want := range map[string]string{
		"1GB": "--read-limit 1GB: want bytes a second, such as 1GB/s", "x/s": "--read-limit x/s: want bytes a second, such as 1GB/s",
	} {
		require.Equal(t, result{2, "", "estream: " + want + "\n"}, run("run", "--tokens", "1", "--read-limit", value, dir))
	}
	require.Equal(t, result{2, "", "estream: --checksum \"never\": there are always, first and off\n"}, run("run", "--tokens", "1", "--checksum", "never", dir))
}

// Without checksums a bit that is wrong goes unnoticed.
func TestChecksumOff(t *testing.T) {
	r := run("run", "--tokens", "1,2,3,4,5,6,7,8", "--checksum", "off", damaged(t, packed(t, tiny, "w8"), "dense.bin"))
	require.Zero(t, r.code, r.errors)
}

func TestRunHints(t *testing.T) {
	dir := packed(t, tiny, "w8")
	require.Equal(t, result{2, "", "estream: --memory: 900 bytes is too little: did you mean 900MiB?\n"}, run("run", "--tokens", "1", "--memory", "900", dir))
	require.Contains(t, ok(t, "run", "--tokens", "1", "--logits", "all", dir).errors, "note: logits of all positions are only written with -o\n")
}

func TestRunDamaged(t *testing.T) {
	r := run("run", "--tokens", "1,2,3,4,5,6,7,8", damaged(t, packed(t, tiny, "w8"), "dense.bin"))
	require.Equal(t, 1, r.code)
	require.Empty(t, r.out)
	require.Contains(t, r.errors, "dense.bin")
}

// What cannot be written is known before the run, and nothing is left of it.
func TestRunOutputErrors(t *testing.T) {
	dir := packed(t, tiny, "f32")
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{filepath.Join(dir, "dense.bin"), 2, "lies in the package"},
		{dir, 2, "is a folder: name a file"},
		{filepath.Join(t.TempDir(), "nowhere", "x.safetensors"), 1, "/nowhere: mkdir -p "},
	} {
		r := run("run", "--tokens", "1,2", "-o", c.path, dir)
		require.Equal(t, c.code, r.code, c.path)
		require.Contains(t, r.errors, c.want)
		require.NotContains(t, r.errors, "plan:", "%s is refused before the run", c.path)
	}
	folder := t.TempDir()
	require.Equal(t, 1, run("run", "--tokens", "99999", "-o", filepath.Join(folder, "x"), dir).code)
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left, "a run that failed leaves no output")
}

// No flag that names a file to write lets it take a package's weights: not through
// a link, not those of a second package; nor may two flags name one file.
func TestOutputsSparePackages(t *testing.T) {
	one, two, folder := packed(t, tiny, "f32"), packed(t, tiny, "w4g32"), t.TempDir()
	link, fresh := filepath.Join(folder, "link"), filepath.Join(folder, "new")
	require.NoError(t, os.Symlink(filepath.Join(two, "experts.bin"), link))
	require.NoError(t, os.WriteFile(fresh, nil, 0o666))
	require.NoError(t, os.Symlink(fresh, filepath.Join(folder, "too")))
	before, err := os.ReadFile(filepath.Join(two, "experts.bin"))
	require.NoError(t, err)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--tokens", "1,2", "-o", link, two}, "lies in the package"},
		{[]string{"run", "--tokens", "1,2", "--trace", link, two}, "lies in the package"},
		{[]string{"run", "--tokens", "1,2", "-o", link, one}, "lies in the package"},
		{[]string{"export", "-o", filepath.Join(two, "experts.bin"), one}, "lies in the package"},
		{[]string{"inspect", "--html", filepath.Join(two, "new.html"), one}, "lies in the package"},
		{[]string{"bench", "-p", "4", "-r", "1", "--trace", link, one, two}, "lies in the package"},
		{[]string{"bench", "-p", "4", "-r", "1", "--trace", filepath.Join(two, "experts.bin"), one, two}, "lies in the package"},
		{[]string{"run", "--tokens", "1,2", "-o", fresh, "--trace", filepath.Join(folder, "too"), one}, "--output and --trace name one file"},
	} {
		r := run(c.args...)
		require.Equal(t, 2, r.code, "%v", c.args)
		require.Contains(t, r.errors, c.want, "%v", c.args)
	}
	after, err := os.ReadFile(filepath.Join(two, "experts.bin"))
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestRunPromptsFile(t *testing.T) {
	dir := packed(t, trained, "w8")
	path := filepath.Join(t.TempDir(), "prompts")
	require.NoError(t, os.WriteFile(path, []byte("And the LORD said unto\nElizabeth was\n"), 0o666))
	r := ok(t, "run", "--prompts-file", path, dir)
	require.Contains(t, r.out, `prompt  "And the LORD said unto", 5 tokens`)
	require.Contains(t, r.out, `prompt  "Elizabeth was"`)

	require.NoError(t, os.WriteFile(path, []byte("a\xffb\n"), 0o666))
	require.Equal(t, result{1, "", "estream: prompt 0: tokenizer " + dir + "/tokenizer.json: text is not UTF-8 at byte 1\n"}, run("run", "--prompts-file", path, dir))
}
