package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// Without its journal nothing that was written is known, or who wrote it.
func TestResumeWithoutJournal(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, s, 25)
	require.NoError(t, os.Remove(filepath.Join(dir+partialSuffix, journalName)))
	for _, name := range []string{ExpertsName, DenseName} {
		require.NoError(t, os.WriteFile(filepath.Join(dir+partialSuffix, insideName, name), slices.Repeat([]byte{0xff}, 1<<20), 0o666))
	}
	_, err := Create(t.Context(), dir, s.plan, CreateOptions{})
	require.EqualError(t, err, "create "+dir+": "+dir+".partial holds package/dense.bin and no journal to go on by; remove it, or discard it with --restart: file already exists")
	w, err := Create(t.Context(), dir, s.plan, CreateOptions{Restart: true})
	require.NoError(t, err)
	_, err = w.Stop()
	require.NoError(t, err)
	requireOnly(t, filepath.Dir(dir))
}

// Restart empties what it discards: padding is zero whatever was there.
func TestRestartDiscards(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	inside := filepath.Join(dir+partialSuffix, insideName)
	require.NoError(t, os.MkdirAll(inside, 0o777))
	for _, name := range []string{ExpertsName, DenseName, ManifestName, "tokenizer.json"} {
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
		for _, file := range []string{journalName, lockName} {
			if !slices.Contains(left, file) {
				require.NoError(t, os.Remove(filepath.Join(dir+partialSuffix, file)), name)
			}
		}
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
