package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint/checkpointtest"
	"estream/pager/layout"
)

// toyExpert is the length of an expert's record of the small toy in w4: codes,
// then the scales of groups of 64, and of 32 where rows have no more.
const toyExpert = 3*64*32/2 + (32+32+64)*2

// interrupted cancels a conversion when that share of it is made.
func interrupted(t testing.TB, from, dir string, o Options, share float64) *Unfinished {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Workers = 1
	o.Progress = func(done, total int64) {
		if float64(done) >= share*float64(total) {
			cancel()
		}
	}
	_, err := Run(ctx, from, dir, o)
	require.ErrorIs(t, err, context.Canceled)
	var u *Unfinished
	if errors.As(err, &u) {
		require.Equal(t, dir, u.Dir)
		return u
	}
	return nil
}

// Cancelled at any point, a conversion goes on from there, and says what it kept.
func TestCancelled(t *testing.T) {
	t.Parallel()
	c := smallToy()
	from := c.write(t)
	want, _ := packed(t, from, options(t, "w4"))
	for _, share := range []float64{0.01, 0.3, 0.6, 0.8} {
		dir := filepath.Join(t.TempDir(), "pkg")
		u := interrupted(t, from, dir, options(t, "w4"), share)
		require.GreaterOrEqual(t, float64(u.Kept), share*float64(u.Total))
		require.EqualError(t, u, fmt.Sprintf("%s is unfinished, %.1f %% of it is kept; run the same command again to go on, or with --restart to begin anew: context canceled", dir, 100*float64(u.Kept)/float64(u.Total)))
		_, err := layout.Open(dir)
		require.EqualError(t, err, dir+" was never finished; run the same estream pack again, which goes on with "+dir+".partial: not a package")

		o := options(t, "w4")
		o.Workers = 3
		var told []int64
		var checked, first, last int64
		o.Resumed = func(kept, total int64) { told = append(told, kept, total) }
		o.Checked = func(done, total int64) { checked = done }
		o.Progress = func(done, total int64) {
			if last == 0 {
				first = done
			}
			require.GreaterOrEqual(t, done, last)
			last = done
		}
		report, err := Run(t.Context(), from, dir, o)
		require.NoError(t, err)
		require.Equal(t, []int64{u.Kept, u.Total}, told)
		require.Equal(t, []int64{u.Kept, u.Kept, u.Total}, []int64{checked, first, last})
		require.InDelta(t, float64(u.Kept)/float64(u.Total), report.Kept, 1e-9)
		require.InEpsilon(t, (1-report.Kept)*float64(report.Read)/report.Elapsed.Seconds(), report.Rate(), 1e-9)
		requireSame(t, want, dir)
		requireOnly(t, filepath.Dir(dir), "pkg")
	}
}

// What made nothing leaves nothing.
func TestFailedBeforeTheFirstRecord(t *testing.T) {
	from := smallToy().write(t)
	parent := t.TempDir()
	o := options(t, "w4")
	o.Resumed = func(int64, int64) { t.Error("told of an earlier run that was none") }
	packed(t, from, o)
	require.Nil(t, interrupted(t, from, filepath.Join(parent, "pkg"), options(t, "w4"), 0))
	requireOnly(t, parent)

	c := smallToy()
	c.change = func(ts map[string]checkpointtest.Tensor) {
		for _, t := range ts {
			copy(t.Data, []byte{0xc0, 0x7f})
		}
	}
	o = options(t, "w4")
	o.Workers = 1 // each record fails, and which is the first of several at once is chance
	_, err := Run(t.Context(), c.write(t), filepath.Join(parent, "pkg"), o)
	require.Error(t, err)
	require.Regexp(t, `^weight expert.gate.weight of layer \d, expert \d: quant: weight \[0,0\] is NaN$`, err.Error())
	requireOnly(t, parent)
}

// A failure in the middle keeps what was made before.
func TestFailedInTheMiddle(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.change = func(ts map[string]checkpointtest.Tensor) {
		copy(ts["model.layers.1.mlp.experts.1.gate_proj.weight"].Data, []byte{0xc0, 0x7f})
	}
	from := c.write(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	o := options(t, "w4")
	o.Workers = 1
	last := int64(0)
	for range 2 {
		_, err := Run(t.Context(), from, dir, o)
		var u *Unfinished
		require.ErrorAs(t, err, &u)
		require.EqualError(t, u, fmt.Sprintf("%s is unfinished, %.1f %% of it is kept; mend the cause and run the same command again to go on, or with --restart to begin anew: "+
			"weight expert.gate.weight of layer 1, expert 1: quant: weight [0,0] is NaN", dir, 100*float64(u.Kept)/float64(u.Total)))
		require.GreaterOrEqual(t, u.Kept, max(last, 4*toyExpert), "the experts before")
		last = u.Kept
	}
}

// With other options, or other sources, an unfinished conversion is refused, and
// --restart discards it.
func TestOthersAreRefused(t *testing.T) {
	t.Parallel()
	c := smallToy()
	from := c.write(t)
	weights := filepath.Join(from, "model.safetensors")
	config := filepath.Join(from, "config.json")
	info, err := os.Stat(weights)
	require.NoError(t, err)
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "pkg")
	u := interrupted(t, from, dir, options(t, "w4"), 0.5)
	for _, tc := range []struct {
		name   string
		change func(o *Options)
		undo   func()
		want   string // a regular expression
	}{
		{"encoding", func(o *Options) { *o = options(t, "w8") }, nil,
			`encoding was w4 \(experts w4g64, attention w8, head w8, embed w8\) and is now w8 \(experts w8, attention w8, head w8, embed w8\)`},
		{"one kind", func(o *Options) { o.Encoding.Head = 0 }, nil,
			`encoding was w4 \(experts w4g64, attention w8, head w8, embed w8\) and is now w4 \(experts w4g64, attention w8, head exact, embed w8\)`},
		{"backend", func(o *Options) { o.Backend = "npu" }, nil, `backend was host and is now npu`},
		{"packing", func(o *Options) { o.Packing = npuPacking() }, nil, `packing was host and is now npu.kn`},
		{"alignment", func(o *Options) { o.Align = 4096 }, nil, `alignment was 16384 and is now 4096`},
		{"provenance", func(o *Options) { o.Provenance = []layout.KeyValue{{Key: "seed", Value: "1"}} }, nil, `seed was not given and is now 1`},
		{"times", func(*Options) { require.NoError(t, os.Chtimes(weights, time.Time{}, info.ModTime().Add(time.Second))) },
			func() { require.NoError(t, os.Chtimes(weights, time.Time{}, info.ModTime())) },
			`the hash of the checkpoint's files was [0-9a-f]{16} and is now [0-9a-f]{16}`},
		{"config", func(*Options) {
			require.NoError(t, os.WriteFile(config, []byte(strings.Replace(string(text), "0.00001", "0.00002", 1)), 0o666))
		}, func() { require.NoError(t, os.WriteFile(config, text, 0o666)) },
			`the hash of the checkpoint's files was [0-9a-f]{16} and is now [0-9a-f]{16}`},
		{"another checkpoint", func(*Options) { from = smallToy().write(t) }, func() { from = filepath.Dir(weights) },
			`the hash of the checkpoint's files was [0-9a-f]{16} and is now [0-9a-f]{16}`},
	} {
		o := options(t, "w4")
		tc.change(&o)
		_, err := Run(t.Context(), from, dir, o)
		require.Error(t, err, tc.name)
		require.Regexp(t, `^create `+dir+`: `+dir+`.partial was begun with other arguments or from other sources: `+tc.want+`; repeat the first, or discard it with --restart: file already exists$`, err.Error(), tc.name)
		if tc.undo != nil {
			tc.undo()
		}
	}
	kept := int64(0)
	o := options(t, "w4")
	o.Resumed = func(n, _ int64) { kept = n }
	again := filepath.Join(t.TempDir(), "pkg")
	require.NoError(t, os.CopyFS(again+".partial", os.DirFS(dir+".partial")))
	_, err = Run(t.Context(), from, again, o)
	require.NoError(t, err)
	require.Equal(t, u.Kept, kept, "nothing was lost by refusals")

	o = options(t, "w8")
	o.Restart = true
	report, err := Run(t.Context(), from, dir, o)
	require.NoError(t, err)
	require.Zero(t, report.Kept)
	want, _ := packed(t, from, options(t, "w8"))
	requireSame(t, want, dir)

	_, err = Run(t.Context(), from, dir, o)
	require.EqualError(t, err, "create "+dir+": it is there already, and a package is never written over; remove it or name another: file already exists")
	requireSame(t, want, dir)
}

// A second conversion into the same place is told of the first.
func TestTwoAtATime(t *testing.T) {
	from := smallToy().write(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	o := options(t, "w4")
	var second []error
	o.Progress = func(done, total int64) {
		if done > 0 && len(second) == 0 {
			for _, restart := range []bool{false, true} {
				o := options(t, "w4")
				o.Restart = restart
				_, err := Run(t.Context(), from, dir, o)
				second = append(second, err)
			}
		}
	}
	_, err := Run(t.Context(), from, dir, o)
	require.NoError(t, err)
	for _, err := range second {
		require.EqualError(t, err, "create "+dir+": another estream is writing "+dir+".partial; wait for it or name another: file already exists")
	}
	want, _ := packed(t, from, options(t, "w4"))
	requireSame(t, want, dir)
}

// Damaged records and a damaged journal cost what they say and no more.
func TestDamagedPartial(t *testing.T) {
	t.Parallel()
	c := smallToy()
	from := c.write(t)
	want, _ := packed(t, from, options(t, "w4"))
	for name, tc := range map[string]struct {
		file string
		at   func(data []byte, record int) int // the byte to damage, where that of a record that was made is given
		redo int64                             // bytes of records made again
	}{
		"record":       {"package/experts.bin", func(_ []byte, record int) int { return record }, toyExpert},
		"last of it":   {"package/experts.bin", func(_ []byte, record int) int { return record + toyExpert - 1 }, toyExpert},
		"nothing":      {"", nil, 0},
		"journal line": {"journal", func(data []byte, _ int) int { return strings.Index(string(data), "\n") + 20 }, toyExpert},
		"journal end":  {"journal", func(data []byte, _ int) int { return len(data) - 3 }, toyExpert},
	} {
		dir := filepath.Join(t.TempDir(), "pkg")
		o := options(t, "w4")
		u := interrupted(t, from, dir, o, 0.2)
		require.Zero(t, u.Kept%toyExpert, "experts alone")
		if tc.at != nil {
			path := filepath.Join(dir+".partial", tc.file)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			data[tc.at(data, entered(t, dir))] ^= 1
			require.NoError(t, os.WriteFile(path, data, 0o666))
		}
		kept := int64(0)
		o.Resumed = func(n, _ int64) { kept = n }
		_, err := Run(t.Context(), from, dir, o)
		require.NoError(t, err, name)
		require.Equal(t, tc.redo, u.Kept-kept, name)
		requireSame(t, want, dir)
	}
}

// entered returns where an expert lies that the journal of an unfinished package has.
func entered(t *testing.T, dir string) int {
	journal, err := os.ReadFile(filepath.Join(dir+".partial", "journal"))
	require.NoError(t, err)
	m := regexp.MustCompile(`"file":"experts.bin".*"offset":(\d+)`).FindStringSubmatch(string(journal))
	require.NotNil(t, m, "%s", journal)
	at, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	return at
}

// The package is there, and the writer was killed before it could tidy up.
func TestFinishedAlready(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	want, _ := packed(t, from, options(t, "w4"))
	dir := filepath.Join(t.TempDir(), "pkg")
	interrupted(t, from, dir, options(t, "w4"), 0.5)
	require.NoError(t, os.RemoveAll(filepath.Join(dir+".partial", "package")))
	require.NoError(t, os.CopyFS(dir, os.DirFS(want)))
	report, err := Run(t.Context(), from, dir, options(t, "w4"))
	require.NoError(t, err)
	require.Equal(t, 1.0, report.Kept)
	require.Zero(t, report.Rate())
	requireSame(t, want, dir)
	requireOnly(t, filepath.Dir(dir), "pkg")
}

// Companions are copied, and those of an interrupted conversion replaced.
func TestCompanions(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	interrupted(t, from, dir, options(t, "w4"), 0.8)
	half := filepath.Join(dir+".partial", "package", "tokenizer.json")
	require.NoError(t, os.WriteFile(half, []byte("{"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(from, "tokenizer_config.json"), []byte("{}"), 0o666))
	_, err := Run(t.Context(), from, dir, options(t, "w4"))
	require.NoError(t, err)
	files := contents(t, dir)
	require.Equal(t, toyTokenizer, files["tokenizer.json"])
	require.Equal(t, "{}", files["tokenizer_config.json"])

	alone, _ := packed(t, filepath.Join(from, "model.safetensors"), options(t, "w4"))
	requireSame(t, dir, alone)
	require.NoError(t, os.Remove(filepath.Join(from, "tokenizer.json")))
	none, _ := packed(t, from, options(t, "w4"))
	require.NoFileExists(t, filepath.Join(none, "tokenizer.json"))
}
