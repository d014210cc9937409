//go:build linux || darwin

package layout

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What no writer made is neither written nor removed, with --restart or without,
// and wherever links lead; the refusal names it and changes nothing.
func TestForeignFiles(t *testing.T) {
	link := func(name string) func(t *testing.T, partial, mine string) {
		return func(t *testing.T, partial, mine string) {
			require.NoError(t, os.Symlink(mine, filepath.Join(partial, name)))
		}
	}
	for _, c := range []struct {
		name  string
		plant func(t *testing.T, partial, mine string)
		want  string
	}{
		{"experts", link("package/experts.bin"), " holds package/experts.bin, a link"},
		{"manifest", link("package/model.fb"), " holds package/model.fb, a link"},
		{"companion", link("package/tokenizer.json"), " holds package/tokenizer.json, a link"},
		{"lock", link("lock"), " holds lock, a link"},
		{"journal", link("journal"), " holds journal, a link"},
		{"new journal", link("journal.new"), " holds journal.new, a link"},
		{"inside", func(t *testing.T, partial, mine string) {
			require.NoError(t, os.Remove(filepath.Join(partial, insideName)))
			require.NoError(t, os.Symlink(filepath.Dir(mine), filepath.Join(partial, insideName)))
		}, " holds package, a link"},
		{"partial", func(t *testing.T, partial, mine string) {
			require.NoError(t, os.RemoveAll(partial))
			require.NoError(t, os.Symlink(filepath.Dir(mine), partial))
		}, " is a link"},
		{"link to nothing", func(t *testing.T, partial, mine string) {
			require.NoError(t, os.RemoveAll(partial))
			require.NoError(t, os.Symlink(mine+"2", partial))
		}, " is a link"},
		{"pipe", func(t *testing.T, partial, _ string) {
			require.NoError(t, unix.Mkfifo(filepath.Join(partial, journalName), 0o666))
		}, " holds journal, no regular file"},
		{"pipe inside", func(t *testing.T, partial, _ string) {
			require.NoError(t, unix.Mkfifo(filepath.Join(partial, insideName, DenseName), 0o666))
		}, " holds package/dense.bin, no regular file"},
		{"directory", func(t *testing.T, partial, _ string) {
			require.NoError(t, os.Mkdir(filepath.Join(partial, journalName), 0o777))
		}, " holds journal, a directory"},
		{"file", func(t *testing.T, partial, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(partial, "photos.zip"), []byte("photos"), 0o666))
		}, " holds photos.zip, a file"},
		{"file inside", func(t *testing.T, partial, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(partial, insideName, "photos.zip"), []byte("photos"), 0o666))
		}, " holds package/photos.zip, a file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			mine, dir := filepath.Join(home, "mine", "thesis.txt"), filepath.Join(home, "pkg")
			require.NoError(t, os.Mkdir(filepath.Dir(mine), 0o777))
			require.NoError(t, os.WriteFile(mine, []byte("years of work"), 0o666))
			require.NoError(t, os.MkdirAll(filepath.Join(dir+partialSuffix, insideName), 0o777))
			c.plant(t, dir+partialSuffix, mine)
			before := tree(t, home)
			for _, restart := range []bool{false, true} {
				_, err := Create(t.Context(), dir, newSource(t).plan, CreateOptions{Restart: restart})
				require.EqualError(t, err, "create "+dir+": "+dir+partialSuffix+c.want+", which no estream put there; move it away or name another: file already exists")
				require.Equal(t, before, tree(t, home), "restart %v", restart)
			}
		})
	}
}

// tree tells what lies below a directory, links not followed.
func tree(t *testing.T, dir string) (out []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		line := strings.TrimPrefix(path, dir)
		if err == nil {
			line += " " + d.Type().String()
		}
		if err == nil && d.Type().IsRegular() {
			line += " " + string(read(t, path))
		}
		out = append(out, line)
		return err
	}))
	return out
}

// A file that an earlier writer is said to have left may be somebody's under
// another name: it is not written to. A restart takes the name away, no more.
func TestHardLinks(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, s, 5)
	mine, experts := filepath.Join(t.TempDir(), "thesis.txt"), filepath.Join(dir+partialSuffix, insideName, ExpertsName)
	require.NoError(t, os.WriteFile(mine, []byte("years of work"), 0o666))
	require.NoError(t, os.Remove(experts))
	if err := os.Link(mine, experts); err != nil {
		t.Skip(err)
	}
	_, err := Create(t.Context(), dir, s.plan, CreateOptions{})
	require.EqualError(t, err, "create "+dir+": "+dir+".partial holds package/experts.bin, a file with another name elsewhere, which no estream put there; move it away or name another: file already exists")
	w, err := Create(t.Context(), dir, s.plan, CreateOptions{Restart: true})
	require.NoError(t, err)
	_, err = w.Stop()
	require.NoError(t, err)
	require.Equal(t, "years of work", string(read(t, mine)))
}

// A refusal for another reason leaves no lock where there was none.
func TestRefusalLeavesNoLock(t *testing.T) {
	s := newSource(t)
	dir := filepath.Join(t.TempDir(), "pkg")
	stopped(t, dir, s, 5)
	require.NoError(t, os.Remove(filepath.Join(dir+partialSuffix, lockName)))
	other := s.plan
	other.Experts += 4096
	_, err := Create(t.Context(), dir, other, CreateOptions{})
	require.ErrorContains(t, err, "was begun with other arguments")
	requireOnly(t, dir+partialSuffix, journalName, insideName)
}
