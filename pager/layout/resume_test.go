package layout

import (
	"context"
	"fmt"
	"io"
	"os"
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
		{"padding", func(t *testing.T, path func(string) string) {
			flip(t, path("package/experts.bin"), e[2].Offset+e[2].Stride(4096)-1)
			flip(t, path("package/dense.bin"), d[4].Offset+d[4].Length)
			flip(t, path("package/dense.bin"), s.plan.Dense-1)
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
