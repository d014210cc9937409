package layout

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCreateErrors(t *testing.T) {
	parent := t.TempDir()
	at := func(name string) string { return filepath.Join(parent, name) }
	require.NoError(t, os.Mkdir(at("there"), 0o777))
	require.NoError(t, os.MkdirAll(at("foreign.partial/weights"), 0o777))
	require.NoError(t, os.WriteFile(at("file.partial"), nil, 0o666))
	plan := Plan{Align: 4096, Dense: 4096}
	for _, c := range []struct {
		name string
		plan Plan
		want string
	}{
		{"there", plan, "create " + at("there") + ": it is there already, and a package is never written over; remove it or name another: file already exists"},
		{"foreign", plan, "create " + at("foreign") + ": " + at("foreign.partial") + " holds weights, a directory, which no estream put there; move it away or name another: file already exists"},
		{"file", plan, "create " + at("file") + ": " + at("file.partial") + " is a file, which no estream put there; move it away or name another: file already exists"},
		{"x.partial", plan, "create " + at("x.partial") + ": names that end in .partial are for unfinished packages; name another"},
		{"x", Plan{}, "create " + at("x") + ": model.fb: align: 0 is not a power of two from 4096 to 16777216"},
		{"x", Plan{Align: 4096, Experts: -1}, "create " + at("x") + ": plan: sizes -1, 0 and 0 are impossible"},
		{"x", Plan{Align: 4096, Dense: 1 << 62}, "create " + at("x") + ": plan: sizes 0, 4611686018427387904 and 0 are impossible"},
		{"x", Plan{Align: 4096, Dense: 4096, Rows: []Region{{Name: "e", Rows: 2, RowStride: 4096, RowBytes: 1}}},
			"create " + at("x") + `: dense.bin: rows "e": 2 rows of 4096 bytes are more than the file, 4096`},
		{"x", Plan{Align: 4096, CompanionNames: []string{"../x"}}, "create " + at("x") + `: model.fb: file "../x": is not the plain name of a file in the package`},
		{"no/x", plan, "create " + at("no/x") + ": mkdir " + at("no/x.partial") + ": no such file or directory"},
	} {
		_, err := Create(t.Context(), at(c.name), c.plan, CreateOptions{})
		require.EqualError(t, err, c.want)
	}
	requireOnly(t, parent, "file.partial", "foreign.partial", "there")
	requireOnly(t, at("foreign.partial"), "weights")
}

// A disk without room is found before anything is written, and nothing is left.
func TestCreateLooksForRoom(t *testing.T) {
	requireUnix(t)
	parent := t.TempDir()
	dir := filepath.Join(parent, "pkg")
	_, err := Create(t.Context(), dir, Plan{Align: 4096, Experts: 1 << 60, Dense: 1 << 60, Companions: 1 << 60}, CreateOptions{})
	require.Regexp(t, `^create `+dir+`: 3458764513820540928 bytes are still to be written and \d+ are free in `+parent+`; make room for \d+ more or name another place$`, err)
	requireOnly(t, parent)
}

// What an earlier writer's files take is not asked for again.
func TestRoomCountsWhatIsThere(t *testing.T) {
	requireUnix(t)
	s := newSource(t)
	s.plan.Companions = 1000
	dir := filepath.Join(t.TempDir(), "pkg")
	w := create(t, dir, s.plan)
	all, err := w.need()
	require.NoError(t, err)
	require.Equal(t, 1000+s.plan.Experts+s.plan.Dense, all)
	for _, step := range s.steps(w)[:25] {
		require.NoError(t, step())
	}
	_, err = w.Stop()
	require.NoError(t, err)

	w = create(t, dir, s.plan)
	rest, err := w.need()
	require.NoError(t, err)
	require.Less(t, rest, all/10, "of %d", all)
	require.GreaterOrEqual(t, rest, int64(1000))
	_, err = w.Stop()
	require.NoError(t, err)
}

func requireUnix(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system is not asked for locks and free space here")
	}
}

func TestTwoWriters(t *testing.T) {
	requireUnix(t)
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	w := create(t, dir, s.plan)
	for _, o := range []CreateOptions{{}, {Restart: true}} {
		_, err := Create(t.Context(), dir, s.plan, o)
		require.EqualError(t, err, "create "+dir+": another estream is writing "+dir+".partial; wait for it or name another: file already exists")
	}
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	require.NoError(t, w.Finish(s.manifest))
	requireSame(t, written(t).Dir, dir)
}

// A lock that was removed by its holder is nobody's.
func TestLockThatIsGone(t *testing.T) {
	requireUnix(t)
	dir := t.TempDir()
	w := newWriter(filepath.Join(dir, "pkg"), Plan{Align: 4096}, CreateOptions{})
	require.NoError(t, w.claim())
	require.NoError(t, os.Remove(w.path(lockName)))
	ok, err := current(w.root, w.lock)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, os.WriteFile(w.path(lockName), nil, 0o666))
	ok, err = current(w.root, w.lock)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, w.release())
}
