package layout

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
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
		w := create(t, dir, s.plan)
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
		kept, err := w.Stop()
		require.NoError(t, err, "after Finish")
		require.Zero(t, kept)
		requireOnly(t, filepath.Dir(dir), "pkg")

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
	s.plan.CompanionNames = append(s.plan.CompanionNames, "x")
	e := s.manifest.Experts
	w := create(t, filepath.Join(t.TempDir(), "pkg"), s.plan)
	defer w.Stop()
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	at := func(r Record, offset int64) Record { r.Offset, r.Layer = offset, 9; return r }
	for _, c := range []struct {
		name string
		call func() error
		want string
	}{
		{"twice", func() error { return w.Expert(e[1], payload(e[1], s.experts[1])) },
			"experts.bin: layer 0 expert 1: is written twice"},
		{"short payload", func() error { return w.Expert(at(e[0], 0), payload(e[0], s.experts[0][1:])) },
			"experts.bin: layer 9 expert 0: the payload has 11797 bytes, not 11798"},
		{"long payload", func() error { return w.Expert(at(e[0], 0), payload(e[0], append(s.experts[0], 1))) },
			"experts.bin: layer 9 expert 0: the payload has 11799 bytes or more, not 11798"},
		{"broken payload", func() error {
			return w.Expert(at(e[0], 0), func(io.Writer) ([]float32, error) { return nil, errors.New("the source broke") })
		}, "the source broke"},
		{"factor", func() error {
			return w.Expert(at(e[0], 0), payload(Record{Factors: []float32{1, 0}}, s.experts[0]))
		}, "experts.bin: layer 9 expert 0: factor 1 is 0"},
		{"unaligned", func() error { return w.Expert(at(e[0], 1), nil) },
			"experts.bin: layer 9 expert 0: offset 1 is not a multiple of 4096"},
		{"past the end", func() error { return w.Expert(at(e[0], s.plan.Experts), nil) },
			"experts.bin: layer 9 expert 0: 11798 bytes at offset 131072 run past the end of the file, 131072"},
		{"rows of nothing", func() error { return w.Rows("pos", 0, 1, nil) },
			`dense.bin: rows "pos": was not planned`},
		{"part of a row", func() error { return w.Rows("embed", 0, 1, given(s.rows[:1500])) },
			`dense.bin: rows "embed": 1500 bytes are not 1 rows of 1000`},
		{"no row", func() error { return w.Rows("embed", 0, 0, nil) },
			`dense.bin: rows "embed": rows 0 to -1, and there are 1100`},
		{"rows past the end", func() error { return w.Rows("embed", 1099, 2, nil) },
			`dense.bin: rows "embed": rows 1099 to 1100, and there are 1100`},
		{"rows before the start", func() error { return w.Rows("embed", -1, 2, nil) },
			`dense.bin: rows "embed": rows -1 to 0, and there are 1100`},
		{"rows that cannot be read", func() error {
			return w.Rows("embed", 0, 1, func() ([]byte, error) { return nil, errors.New("the source broke") })
		},
			"the source broke"},
		{"companion elsewhere", func() error { return w.Companion("../x", strings.NewReader("")) },
			`model.fb: file "../x": is not the plain name of a file in the package`},
		{"companion over the manifest", func() error { return w.Companion(ManifestName, strings.NewReader("")) },
			`model.fb: file "model.fb": is the manifest itself`},
		{"companion of no plan", func() error { return w.Companion("y", strings.NewReader("")) },
			"y: was not planned"},
		{"companion over records", func() error { return w.Companion(DenseName, strings.NewReader("")) },
			"dense.bin: was not planned"},
		{"companion that cannot be read", func() error { return w.Companion("x", broken{}) },
			"x: the source broke"},
	} {
		require.EqualError(t, c.call(), c.want, c.name)
	}
	require.ErrorIs(t, w.Companion("config.json", strings.NewReader("")), os.ErrExist)
	require.NoError(t, w.Finish(s.manifest), "refused calls change nothing")
	require.ErrorIs(t, w.Expert(at(e[0], 0), payload(e[0], s.experts[0])), os.ErrClosed)
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
		{"a rule broken", func(m *Manifest, s []func() error) []func() error { m.Rows[0].Factor = 0; return s },
			`dense.bin: rows "embed": factor is 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSource(t)
			parent := t.TempDir()
			dir := filepath.Join(parent, "pkg")
			w := create(t, dir, s.plan)
			for _, step := range c.spoil(s.manifest, s.steps(w)) {
				require.NoError(t, step())
			}
			require.EqualError(t, w.Finish(s.manifest), "finish "+dir+": "+c.want)
			_, err := Open(dir)
			require.ErrorIs(t, err, ErrNotPackage)
			_, err = w.Stop()
			require.NoError(t, err)
			requireOnly(t, parent, "pkg.partial")

			w = create(t, dir, s.plan)
			s = newSource(t)
			for _, step := range s.steps(w) {
				require.NoError(t, step())
			}
			require.NoError(t, w.Finish(s.manifest), "what was wrong mended")
			requireSame(t, written(t).Dir, dir)
		})
	}
}

// requireOnly checks what a directory holds.
func requireOnly(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	require.Equal(t, names, got, dir)
}

// requireSame checks that two directories hold the same files.
func requireSame(t testing.TB, want, got string) {
	t.Helper()
	entries, err := os.ReadDir(want)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		a, err := os.ReadFile(filepath.Join(want, e.Name()))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, e.Name()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), "%s of %s and %s differ", e.Name(), want, got)
	}
	requireOnly(t, got, names...)
}

// A record whose write failed is none, whoever overlooked the error.
func TestFailedWriteIsNoRecord(t *testing.T) {
	s := newSource(t)
	w := create(t, filepath.Join(t.TempDir(), "pkg"), s.plan)
	defer w.Stop()
	require.NoError(t, w.experts.Close())
	e := s.manifest.Experts
	require.ErrorContains(t, w.Expert(e[0], payload(e[0], s.experts[0])), "layer 0 expert 0: write ")
	require.ErrorContains(t, w.Finish(s.manifest), "experts.bin: layer 0 expert 0: was not written")
}

// Someone makes the directory while the writer works: it is left alone.
func TestFinishNeverReplaces(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	w := create(t, dir, s.plan)
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	require.NoError(t, os.Mkdir(dir, 0o777))
	require.ErrorIs(t, w.Finish(s.manifest), os.ErrExist)
	_, err := w.Stop()
	require.NoError(t, err)
	requireOnly(t, dir)
}
