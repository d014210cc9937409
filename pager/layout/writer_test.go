package layout

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// However the calls are ordered and spread, the bytes are the same.
func TestWriterIsDeterministic(t *testing.T) {
	want := written(t)
	for seed := range uint64(4) {
		dir := filepath.Join(t.TempDir(), "pkg")
		s := newSource(t)
		w, err := Create(dir, s.plan)
		require.NoError(t, err)
		steps := s.steps(w)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		errs := make([]error, len(steps))
		var wg sync.WaitGroup
		for i, step := range steps {
			wg.Go(func() { errs[i] = step() })
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		require.NoError(t, w.Finish(s.manifest))
		require.NoError(t, w.Abort(), "after Finish")

		got, err := Open(dir)
		require.NoError(t, err)
		require.Equal(t, want.Manifest, got.Manifest)
		require.NoError(t, Verify(t.Context(), got, nil))
		for _, f := range append(got.Manifest.Files, FileSum{Name: ManifestName}) {
			require.Equal(t, read(t, want.Path(f.Name)), read(t, got.Path(f.Name)), f.Name)
		}
	}
}

func read(t *testing.T, path string) []byte {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func TestWriterErrors(t *testing.T) {
	s := newSource(t)
	e := s.manifest.Experts
	w, err := Create(filepath.Join(t.TempDir(), "pkg"), s.plan)
	require.NoError(t, err)
	defer w.Abort()
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	at := func(r Record, offset int64) Record { r.Offset, r.Layer = offset, 9; return r }
	for _, c := range []struct {
		name string
		call func() error
		want string
	}{
		{"twice", func() error { return w.Expert(e[1], s.experts[1]) },
			"experts.bin: layer 0 expert 1: is written twice"},
		{"short payload", func() error { return w.Dense(s.manifest.Dense[0], s.dense[0][1:]) },
			"dense.bin: layer 0 dense 0: the payload has 667 bytes, not 668"},
		{"unaligned", func() error { return w.Expert(at(e[0], 1), s.experts[0]) },
			"experts.bin: layer 9 expert 0: offset 1 is not a multiple of 4096"},
		{"past the end", func() error { return w.Expert(at(e[0], s.plan.Experts), s.experts[0]) },
			"experts.bin: layer 9 expert 0: 11798 bytes at offset 131072 run past the end of the file, 131072"},
		{"rows of nothing", func() error { return w.Rows("pos", 0, s.rows) },
			`dense.bin: rows "pos": was not planned`},
		{"part of a row", func() error { return w.Rows("embed", 0, s.rows[:1500]) },
			`dense.bin: rows "embed": 1500 bytes are not rows of 1000`},
		{"no row", func() error { return w.Rows("embed", 0, nil) },
			`dense.bin: rows "embed": 0 bytes are not rows of 1000`},
		{"rows past the end", func() error { return w.Rows("embed", 1099, s.rows[:2000]) },
			`dense.bin: rows "embed": rows 1099 to 1100, and there are 1100`},
		{"rows before the start", func() error { return w.Rows("embed", -1, s.rows[:2000]) },
			`dense.bin: rows "embed": rows -1 to 0, and there are 1100`},
		{"companion elsewhere", func() error { return w.Companion("../x", strings.NewReader("")) },
			`model.fb: file "../x": is not the plain name of a file in the package`},
		{"companion over the manifest", func() error { return w.Companion(ManifestName, strings.NewReader("")) },
			`model.fb: file "model.fb": is the manifest itself`},
		{"companion that cannot be read", func() error { return w.Companion("x", broken{}) },
			"x: the source broke"},
	} {
		require.EqualError(t, c.call(), c.want, c.name)
	}
	for _, name := range []string{DenseName, "config.json", lockName} {
		require.ErrorIs(t, w.Companion(name, strings.NewReader("")), os.ErrExist, name)
	}
	require.NoError(t, w.Finish(s.manifest), "refused calls change nothing")
	require.ErrorIs(t, w.Expert(at(e[0], 0), s.experts[0]), os.ErrClosed)
	require.Error(t, w.Finish(s.manifest))
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the source broke") }

func TestFinishErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Manifest, []func() error) []func() error
		want  string
	}{
		{"expert not written", func(m *Manifest, s []func() error) []func() error { return s[1:] },
			"experts.bin: layer 0 expert 0: was not written"},
		{"expert not listed", func(m *Manifest, s []func() error) []func() error { m.Experts = m.Experts[1:]; return s },
			"experts.bin: 15 records were written, the manifest has 14"},
		{"expert elsewhere", func(m *Manifest, s []func() error) []func() error { m.Experts[0].Offset += 4096; return s },
			"experts.bin: layer 0 expert 0: 11798 bytes were written at offset 0, not 11798 at 4096"},
		{"dense not written", func(m *Manifest, s []func() error) []func() error { return append(s[:15:15], s[16:]...) },
			"dense.bin: layer 0 dense 0: was not written"},
		{"rows not written", func(m *Manifest, s []func() error) []func() error { return append(s[:22:22], s[23:]...) },
			`dense.bin: rows "embed": row 300 was not written`},
		{"last rows not written", func(m *Manifest, s []func() error) []func() error { return append(s[:24:24], s[25:]...) },
			`dense.bin: rows "embed": row 900 was not written`},
		{"rows twice", func(m *Manifest, s []func() error) []func() error { return append(s, s[22]) },
			`dense.bin: rows "embed": row 300 is written twice`},
		{"region not listed", func(m *Manifest, s []func() error) []func() error { m.Rows = nil; return s },
			"dense.bin: 1 regions were planned, the manifest has 0"},
		{"region of another name", func(m *Manifest, s []func() error) []func() error { m.Rows[0].Name = "pos"; return s },
			`dense.bin: rows "pos": was not planned`},
		{"region elsewhere", func(m *Manifest, s []func() error) []func() error { m.Rows[0].Offset = 0; return s },
			`dense.bin: rows "embed": is not as planned`},
		{"a rule broken", func(m *Manifest, s []func() error) []func() error { m.Experts[2].Factors[0] = 0; return s },
			"experts.bin: layer 0 expert 2: factor 0 is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSource(t)
			parent := t.TempDir()
			dir := filepath.Join(parent, "pkg")
			w, err := Create(dir, s.plan)
			require.NoError(t, err)
			for _, step := range c.spoil(s.manifest, s.steps(w)) {
				require.NoError(t, step())
			}
			require.EqualError(t, w.Finish(s.manifest), "finish "+dir+": "+c.want)
			_, err = Open(dir)
			require.ErrorIs(t, err, ErrNotPackage)
			require.NoError(t, w.Abort())
			entries, err := os.ReadDir(parent)
			require.NoError(t, err)
			require.Empty(t, entries, "after Abort")
		})
	}
}

func TestCreateErrors(t *testing.T) {
	parent := t.TempDir()
	at := func(name string) string { return filepath.Join(parent, name) }
	require.NoError(t, os.Mkdir(at("there"), 0o777))
	require.NoError(t, os.MkdirAll(at("left.partial"), 0o777))
	busy, err := Create(at("busy"), Plan{Align: 4096})
	require.NoError(t, err)
	defer busy.Abort()
	plan := Plan{Align: 4096, Dense: 4096}
	for _, c := range []struct {
		name string
		plan Plan
		want string
	}{
		{"there", plan, "create " + at("there") + ": it is there already, and a package is never written over; remove it or name another: file already exists"},
		{"left", plan, "create " + at("left.partial") + ": left by a conversion that did not finish; remove it and start again: file already exists"},
		{"x.partial", plan, "create " + at("x.partial") + ": names that end in .partial are for unfinished packages; name another"},
		{"x", Plan{}, "create " + at("x") + ": model.fb: align: 0 is not a power of two from 4096 to 16777216"},
		{"x", Plan{Align: 4096, Experts: -1}, "create " + at("x") + ": plan: sizes -1, 0 and 0 are impossible"},
		{"x", Plan{Align: 4096, Dense: 4096, Rows: []Region{{Name: "e", Rows: 2, RowStride: 4096, RowBytes: 1}}},
			"create " + at("x") + `: dense.bin: rows "e": 2 rows of 4096 bytes are more than the file, 4096`},
		{"no/x", plan, "no/x"},
	} {
		_, err := Create(at(c.name), c.plan)
		require.ErrorContains(t, err, c.want)
	}
	require.NoDirExists(t, at("x.partial"))
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return
	}
	_, err = Create(at("busy"), plan)
	require.EqualError(t, err, "create "+at("busy.partial")+": another estream is writing it; wait for it or name another: file already exists")
	_, err = Create(at("x"), Plan{Align: 4096, Experts: 1 << 61, Dense: 1 << 61, Companions: 1 << 61})
	require.ErrorContains(t, err, "2305843009213693952 + 2305843009213693952 + 2305843009213693952 bytes are needed and ")
	require.ErrorContains(t, err, " are free in "+parent+"; make room or name another place")
	require.NoDirExists(t, at("x.partial"))
}

// A record whose write failed is none, whoever overlooked the error.
func TestFailedWriteIsNoRecord(t *testing.T) {
	s := newSource(t)
	w, err := Create(filepath.Join(t.TempDir(), "pkg"), s.plan)
	require.NoError(t, err)
	defer w.Abort()
	require.NoError(t, w.experts.Close())
	e := s.manifest.Experts
	require.ErrorContains(t, w.Expert(e[0], s.experts[0]), "layer 0 expert 0: write ")
	require.ErrorContains(t, w.Finish(s.manifest), "experts.bin: layer 0 expert 0: was not written")
}

// Someone makes the directory while the writer works: it is left alone.
func TestFinishNeverReplaces(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	w, err := Create(dir, s.plan)
	require.NoError(t, err)
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.ErrorIs(t, w.Finish(s.manifest), os.ErrExist)
	require.NoError(t, w.Abort())
	require.DirExists(t, dir)
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
	require.FileExists(t, filepath.Join(dir+partialSuffix, ExpertsName), "%s", out)

	_, err = Open(dir)
	require.ErrorIs(t, err, ErrNotPackage)
	_, err = Open(dir + partialSuffix)
	require.ErrorIs(t, err, ErrNotPackage)
	_, err = Create(dir, newSource(t).plan)
	require.ErrorContains(t, err, "left by a conversion that did not finish; remove it and start again")
}

func writeUntilKilled(t *testing.T, dir string) {
	s := newSource(t)
	w, err := Create(dir, s.plan)
	require.NoError(t, err)
	for _, step := range s.steps(w)[:10] {
		require.NoError(t, step())
	}
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Kill())
	select {} // until the signal arrives
}
