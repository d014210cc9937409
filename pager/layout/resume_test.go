package layout

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stopped writes the first n steps of s to an unfinished package.
func stopped(t testing.TB, dir string, s source, n int) (kept int64) {
	t.Helper()
	w := create(t, dir, s.plan)
	for _, step := range s.steps(w)[:n] {
		require.NoError(t, step())
	}
	kept, err := w.Stop()
	require.NoError(t, err)
	return kept
}

// finish goes on with dir and compares what comes out. It returns the records
// and runs of rows that were made anew.
func finish(t testing.TB, dir string, want *Package) (made []string) {
	t.Helper()
	s := newSource(t)
	w := create(t, dir, s.plan)
	for i, r := range s.manifest.Experts {
		require.NoError(t, w.Expert(r, noting(&made, expertName(r), payload(r, s.experts[i]))))
	}
	for i, r := range s.manifest.Dense {
		require.NoError(t, w.Dense(r, noting(&made, denseName(r), payload(r, s.dense[i]))))
	}
	for first := int64(0); first < 1100; first += 300 {
		n := min(300, 1100-first)
		require.NoError(t, w.Rows("embed", first, n, func() ([]byte, error) {
			made = append(made, fmt.Sprintf("rows %d", first))
			return s.rows[first*1000 : (first+n)*1000], nil
		}))
	}
	for _, step := range s.steps(w)[25:] {
		require.NoError(t, step())
	}
	require.NoError(t, w.Finish(s.manifest))
	requireOnly(t, filepath.Dir(dir), filepath.Base(dir))
	requireSame(t, want.Dir, dir)
	return made
}

func noting(made *[]string, name string, p Payload) Payload {
	return func(w io.Writer) ([]float32, error) {
		*made = append(*made, name)
		return p(w)
	}
}

func TestResume(t *testing.T) {
	want := written(t)
	for _, n := range []int{0, 1, 7, 15, 20, 22, 24, 25, 27} {
		dir := filepath.Join(t.TempDir(), "pkg")
		kept := stopped(t, dir, newSource(t), n)
		if n == 0 {
			require.Zero(t, kept)
			requireOnly(t, filepath.Dir(dir))
			continue
		}
		require.Positive(t, kept)
		made := finish(t, dir, want)
		require.Len(t, made, 25-min(n, 25), "after %d steps: %v", n, made)
	}
}

// A resumed writer knows what is kept, and tells of checking it.
func TestResumeTells(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	kept := stopped(t, dir, s, 25)
	var last, total int64
	w, err := Create(t.Context(), dir, s.plan, CreateOptions{Checked: func(done, all int64) {
		require.Greater(t, done, last)
		last, total = done, all
	}})
	require.NoError(t, err)
	require.Equal(t, kept, w.Kept())
	require.Equal(t, kept, last)
	require.Equal(t, kept, total)
	again, err := w.Stop()
	require.NoError(t, err)
	require.Equal(t, kept, again, "stopping again keeps it")

	ctx, cancel := context.WithCancel(t.Context())
	_, err = Create(ctx, dir, s.plan, CreateOptions{Checked: func(int64, int64) { cancel() }})
	require.EqualError(t, err, "create "+dir+": check of what "+dir+".partial has: context canceled")
	require.Empty(t, finish(t, dir, written(t)), "nothing is lost by that")
}

// However a journal was cut, the rest of it counts and the package is the same.
func TestResumeFromEachCut(t *testing.T) {
	want, s := written(t), newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, s, 25)
	whole := read(t, filepath.Join(dir+partialSuffix, journalName))
	first := slices.Index(whole, '\n') + 1
	lines := slices.Collect(strings.Lines(string(whole[first:])))
	require.Len(t, lines, 25)
	step := 1 + len(whole)/20
	if testing.Short() {
		step = 1 + len(whole)/5
	}
	for cut := first; cut <= len(whole); cut += step {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "pkg")
			stopped(t, dir, s, 25)
			require.NoError(t, os.WriteFile(filepath.Join(dir+partialSuffix, journalName), whole[:cut], 0o666))
			text := string(whole[first:cut])
			kept := strings.Count(text, "\n")
			if kept < 25 && len(text) == len(strings.Join(lines[:kept+1], ""))-1 {
				kept++ // all but the end of the line is there
			}
			require.Len(t, finish(t, dir, want), 25-kept, "cut at byte %d of %d", cut, len(whole))
		})
	}
}

// What is damaged is made again, and only that.
func TestResumeAfterDamage(t *testing.T) {
	want, s := written(t), newSource(t)
	e, d := s.manifest.Experts, s.manifest.Dense
	block := s.plan.Rows[0].Offset
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, path func(string) string)
		want  []string
	}{
		{"nothing", func(*testing.T, func(string) string) {}, nil},
		{"an expert", func(t *testing.T, path func(string) string) { flip(t, path("package/experts.bin"), e[6].Offset) }, []string{"layer 1 expert 1"}},
		{"a layer", func(t *testing.T, path func(string) string) {
			flip(t, path("package/dense.bin"), d[1].Offset+d[1].Length-1)
		}, []string{"layer 1 dense 0"}},
		{"a row", func(t *testing.T, path func(string) string) { flip(t, path("package/dense.bin"), block+301*1001) }, []string{"rows 300"}},
		{"the gap after a row", func(t *testing.T, path func(string) string) { flip(t, path("package/dense.bin"), block+1000) }, []string{"rows 0"}},
		{"a cut file", func(t *testing.T, path func(string) string) {
			require.NoError(t, os.Truncate(path("package/experts.bin"), e[13].Offset+5))
		}, []string{"layer 2 expert 3", "layer 2 expert 4"}},
		{"a file that grew", func(t *testing.T, path func(string) string) {
			require.NoError(t, os.Truncate(path("package/experts.bin"), 1<<20))
		}, nil},
		{"a line", func(t *testing.T, path func(string) string) {
			data := read(t, path(journalName))
			lines := strings.SplitAfter(string(data), "\n")
			flip(t, path(journalName), int64(len(lines[0])+len(lines[1])+len(lines[2])+20)) // that of the third expert
		}, []string{"layer 0 expert 2"}},
		{"a companion and a manifest", func(t *testing.T, path func(string) string) {
			require.NoError(t, os.WriteFile(path("package/tokenizer.json"), []byte("{"), 0o666))
			require.NoError(t, os.WriteFile(path("package/"+ManifestName), []byte("stub"), 0o666))
			require.NoError(t, os.WriteFile(path(newName(journalName)), []byte("half"), 0o666))
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "pkg")
			stopped(t, dir, s, 25)
			c.spoil(t, func(name string) string { return filepath.Join(dir+partialSuffix, name) })
			require.Equal(t, c.want, finish(t, dir, want))
		})
	}
}

// A journal's lines are checked like anything from a stranger: what the plan
// does not have is not read.
func TestResumeLeavesForeignLines(t *testing.T) {
	want, s := written(t), newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, s, 25)
	e := s.manifest.Experts[0]
	path := filepath.Join(dir+partialSuffix, journalName)
	text := read(t, path)
	for _, x := range []entry{
		{File: "model.fb", Length: 10},
		{File: ExpertsName, Layer: 7, Index: 1, Offset: 4096 * 1000, Length: 10},
		{File: ExpertsName, Layer: 7, Index: 2, Offset: -4096, Length: 10},
		{File: ExpertsName, Layer: 7, Index: 3, Length: -1},
		{File: ExpertsName, Layer: 0, Index: 0, Offset: e.Offset, Length: e.Length, Factors: []float32{0}},
		{File: DenseName, Rows: "pos", Count: 1, Length: 10},
		{File: ExpertsName, Rows: "embed", Count: 1, Length: 1001},
		{File: DenseName, Rows: "embed", Index: 350, Count: 1 << 62, Length: 10},
		{File: DenseName, Rows: "embed", Index: 600, Count: 300, Offset: 4096, Length: 10},
	} {
		line, err := sealLine(x)
		require.NoError(t, err)
		text = append(text, line...)
	}
	require.NoError(t, os.WriteFile(path, text, 0o666))
	require.Equal(t, []string{"layer 0 expert 0", "rows 600"}, finish(t, dir, want))
}

// A kept record that the caller no longer has is none.
func TestKeptCountsOnceAskedFor(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, s, 25)
	w := create(t, dir, s.plan)
	defer w.Stop()
	for _, step := range s.steps(w)[1:] {
		require.NoError(t, step())
	}
	require.EqualError(t, w.Finish(s.manifest), "finish "+dir+": experts.bin: layer 0 expert 0: was not written")
	r := s.manifest.Experts[1]
	require.EqualError(t, w.Expert(r, payload(r, s.experts[1])), "experts.bin: layer 0 expert 1: is written twice")
}

func TestResumeRefusals(t *testing.T) {
	identity := func(s *source) { s.plan.Identity = []KeyValue{{"encoding", "w4"}, {"hash of the source", "1a2b"}} }
	for _, c := range []struct {
		name   string
		change func(t *testing.T, p *Plan, journal string)
		want   string
	}{
		{"option", func(_ *testing.T, p *Plan, _ string) {
			p.Identity = []KeyValue{{"encoding", "w8"}, {"hash of the source", "3c4d"}}
		},
			"%s was begun with other arguments or from other sources: encoding was w4 and is now w8; repeat the first, or discard it with --restart: file already exists"},
		{"source", func(_ *testing.T, p *Plan, _ string) {
			p.Identity = []KeyValue{{"encoding", "w4"}, {"hash of the source", "3c4d"}}
		},
			"%s was begun with other arguments or from other sources: hash of the source was 1a2b and is now 3c4d; repeat the first, or discard it with --restart: file already exists"},
		{"fewer", func(_ *testing.T, p *Plan, _ string) { p.Identity = p.Identity[:1] },
			"%s was begun with other arguments or from other sources: hash of the source was 1a2b and is now not given; repeat the first, or discard it with --restart: file already exists"},
		{"more", func(_ *testing.T, p *Plan, _ string) { p.Identity = append(p.Identity, KeyValue{"seed", "1"}) },
			"%s was begun with other arguments or from other sources: seed was not given and is now 1; repeat the first, or discard it with --restart: file already exists"},
		{"size", func(_ *testing.T, p *Plan, _ string) { p.Experts += 4096 },
			"%s was begun with other arguments or from other sources: size of experts.bin was 131072 and is now 135168; repeat the first, or discard it with --restart: file already exists"},
		{"first line", func(t *testing.T, _ *Plan, path string) { flip(t, path, 12) },
			"%s has a journal that cannot be used: its first line is damaged; discard it with --restart"},
		{"no line", func(t *testing.T, _ *Plan, path string) { require.NoError(t, os.Truncate(path, 0)) },
			"%s has a journal that cannot be used: its first line is damaged; discard it with --restart"},
		{"another's", func(t *testing.T, _ *Plan, path string) {
			require.NoError(t, os.WriteFile(path, []byte("[Unit]\nDescription=\n"), 0o666))
		}, "%s has a journal that cannot be used: its first line is damaged; discard it with --restart"},
		{"newer", func(t *testing.T, _ *Plan, path string) {
			line, err := sealLine(header{Journal: 2})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, line, 0o666))
		}, "%s has a journal that cannot be used: it is of version 2, and this estream writes 1; discard it with --restart"},
		{"a directory", func(t *testing.T, _ *Plan, path string) { require.NoError(t, redir(path)) },
			"%[1]s has a journal that cannot be used: read %[1]s/journal: is a directory; discard it with --restart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSource(t)
			identity(&s)
			dir := filepath.Join(t.TempDir(), "pkg")
			stopped(t, dir, s, 25)
			before := read(t, filepath.Join(dir+partialSuffix, insideName, ExpertsName))
			plan := s.plan
			c.change(t, &plan, filepath.Join(dir+partialSuffix, journalName))
			_, err := Create(t.Context(), dir, plan, CreateOptions{})
			require.EqualError(t, err, "create "+dir+": "+fmt.Sprintf(c.want, dir+partialSuffix))
			require.Equal(t, before, read(t, filepath.Join(dir+partialSuffix, insideName, ExpertsName)), "a refusal changes nothing")

			w, err := Create(t.Context(), dir, s.plan, CreateOptions{Restart: true})
			require.NoError(t, err)
			require.Zero(t, w.Kept())
			for _, step := range s.steps(w) {
				require.NoError(t, step())
			}
			require.NoError(t, w.Finish(s.manifest))
			requireSame(t, written(t).Dir, dir)
		})
	}
}

// Without its journal nothing that was written is known.
func TestResumeWithoutJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, newSource(t), 25)
	require.NoError(t, os.Remove(filepath.Join(dir+partialSuffix, journalName)))
	require.Len(t, finish(t, dir, written(t)), 25)
}

// Restart empties what it discards: padding is zero whatever was there.
func TestRestartDiscards(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	inside := filepath.Join(dir+partialSuffix, insideName)
	require.NoError(t, os.MkdirAll(inside, 0o777))
	for _, name := range []string{ExpertsName, DenseName, "old.bin"} {
		require.NoError(t, os.WriteFile(filepath.Join(inside, name), slices.Repeat([]byte{0xff}, 2<<20), 0o666))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir+partialSuffix, journalName), []byte("?"), 0o666))
	w, err := Create(t.Context(), dir, s.plan, CreateOptions{Restart: true})
	require.NoError(t, err)
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	require.NoError(t, w.Finish(s.manifest))
	requireSame(t, written(t).Dir, dir)
}

// The writer was killed when the package had its name and the journal was still
// there: whoever comes next tidies up. Nobody else's directory is touched.
func TestKilledAfterTheRename(t *testing.T) {
	s := newSource(t)
	setUp := func(t *testing.T) string {
		dir := filepath.Join(t.TempDir(), "pkg")
		stopped(t, dir, s, 25)
		require.NoError(t, os.RemoveAll(filepath.Join(dir+partialSuffix, insideName)))
		require.NoError(t, os.Rename(written(t).Dir, dir))
		return dir
	}
	dir := setUp(t)
	_, err := Create(t.Context(), dir, s.plan, CreateOptions{})
	require.ErrorIs(t, err, ErrFinished)
	requireOnly(t, filepath.Dir(dir), "pkg")
	requireSame(t, written(t).Dir, dir)
	_, err = Create(t.Context(), dir, s.plan, CreateOptions{})
	require.ErrorContains(t, err, "it is there already")

	// without the journal it is not known whose the package is
	for name, left := range map[string][]string{"journal gone": {lockName}, "lock gone": {}} {
		dir := setUp(t)
		require.NoError(t, removeBut(dir+partialSuffix, left), name)
		_, err := Create(t.Context(), dir, s.plan, CreateOptions{})
		require.ErrorContains(t, err, "it is there already", name)
		requireOnly(t, filepath.Dir(dir), "pkg")
	}
	for name, change := range map[string]func(dir string, p *Plan) error{
		"another plan":          func(_ string, p *Plan) error { p.Experts += 4096; return nil },
		"no package":            func(dir string, _ *Plan) error { return os.Remove(filepath.Join(dir, ManifestName)) },
		"inside is still there": func(dir string, _ *Plan) error { return os.Mkdir(filepath.Join(dir+partialSuffix, insideName), 0o777) },
		"foreign": func(dir string, _ *Plan) error {
			return os.Rename(filepath.Join(dir+partialSuffix, journalName), filepath.Join(dir+partialSuffix, "diary"))
		},
	} {
		dir, plan := setUp(t), s.plan
		require.NoError(t, change(dir, &plan), name)
		_, err := Create(t.Context(), dir, plan, CreateOptions{})
		require.ErrorContains(t, err, "it is there already, and a package is never written over", name)
		requireOnly(t, filepath.Dir(dir), "pkg", "pkg.partial")
		entries, err := os.ReadDir(dir + partialSuffix)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(entries), 2, name)
	}
}

const killedDir = "LAYOUT_TEST_KILLED_DIR"

// TestKilled runs itself as a process that is killed while it writes.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(killedDir); dir != "" {
		writeUntilKilled(t, dir)
	}
	dir := filepath.Join(t.TempDir(), "pkg")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), killedDir+"="+dir)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", out)
	require.FileExists(t, filepath.Join(dir+partialSuffix, insideName, ExpertsName), "%s", out)

	_, err = Open(dir)
	require.ErrorIs(t, err, ErrNotPackage)
	_, err = Open(dir + partialSuffix)
	require.ErrorIs(t, err, ErrNotPackage)
	_, err = Open(filepath.Join(dir+partialSuffix, insideName))
	require.ErrorIs(t, err, ErrNotPackage)
	require.Len(t, finish(t, dir, written(t)), 15, "ten records were synced and entered")
}

func writeUntilKilled(t *testing.T, dir string) {
	s := newSource(t)
	w, err := Create(t.Context(), dir, s.plan, CreateOptions{Sync: 1})
	require.NoError(t, err)
	for _, step := range s.steps(w)[:10] {
		require.NoError(t, step())
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Kill())
	select {} // until the signal arrives
}

// A file that cannot be synced may have lost anything: nothing that was written
// before is entered, and there is no package.
func TestNothingIsEnteredAfterAFailedSync(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	w := create(t, dir, s.plan)
	for _, step := range s.steps(w)[:10] {
		require.NoError(t, step())
	}
	require.NoError(t, w.sync())
	kept := w.Kept()
	for _, step := range s.steps(w)[10:12] {
		require.NoError(t, step())
	}
	require.NoError(t, w.dense.Close())
	require.ErrorIs(t, w.sync(), os.ErrClosed)
	require.ErrorIs(t, w.Finish(s.manifest), os.ErrClosed)
	got, err := w.Stop()
	require.ErrorIs(t, err, os.ErrClosed)
	require.Equal(t, kept, got)
	require.Len(t, finish(t, dir, written(t)), 15)
}

// FuzzJournal: whatever the bytes, and also where their lines' checksums are
// right, there is no panic, and what is read is written the same.
func FuzzJournal(f *testing.F) {
	line := func(v any) string {
		data, err := sealLine(v)
		if err != nil {
			panic(err)
		}
		return string(data)
	}
	head := line(header{journalVersion, []KeyValue{{"encoding", "w4"}}})
	f.Add("")
	f.Add(head)
	f.Add(head + line(entry{File: ExpertsName, Offset: 4096, Length: 5, Factors: []float32{0.5}}) + line(entry{File: DenseName, Rows: "embed", Index: 3, Count: 2}))
	f.Add(head + line(entry{File: ExpertsName, CRC: 1}) + line(entry{File: ExpertsName, CRC: 2}) + "torn")
	f.Add(`{"journal":1,"identity":null}` + "\n" + `{"file":"x","index":-1}` + "\n" + `{"layer":1e99}`)
	f.Fuzz(func(t *testing.T, text string) {
		parseJournal([]byte(text))
		var mended []byte
		for l := range strings.Lines(text) {
			l = strings.TrimSuffix(l, "\n")
			mended = fmt.Appendf(mended, "%08x %s\n", crcOf(l), l)
		}
		head, entries, err := parseJournal(mended)
		if err != nil {
			return
		}
		again := line(head)
		for _, e := range entries {
			again += line(e)
		}
		head2, entries2, err := parseJournal([]byte(again))
		require.NoError(t, err)
		require.Equal(t, line(head), line(head2))
		require.Equal(t, len(entries), len(entries2))
		for i := range entries {
			require.Equal(t, line(entries[i]), line(entries2[i]))
		}
	})
}

func crcOf(s string) uint32 { return crc32.Checksum([]byte(s), castagnoli) }
