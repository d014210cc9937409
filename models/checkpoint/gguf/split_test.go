package gguf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
	"estream/models/checkpoint/gguf"
)

// writeSplit writes three files of a tensor each, and returns the folder.
func writeSplit(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 3 {
		g := part(i)
		require.NoError(t, g.Write(filepath.Join(dir, partName(i))))
	}
	return dir
}

func partName(i int) string { return fmt.Sprintf("x-%05d-of-00003.gguf", i+1) }

func part(i int) checkpointtest.GGUF {
	g := checkpointtest.GGUF{
		Pairs:   []pair{{"split.no", uint16(i)}, {"split.count", uint16(3)}, {"split.tensors.count", int32(3)}},
		Tensors: []stored{checkpointtest.StoredF32(fmt.Sprint("t", 2-i), []int{2}, float32(i), 10)},
	}
	if i == 0 {
		g.Pairs = append(g.Pairs, pair{"general.architecture", "x"})
	}
	return g
}

// The folder and each of its files are the whole model.
func TestSplit(t *testing.T) {
	dir := writeSplit(t)
	for _, name := range []string{"", partName(0), partName(2)} {
		c := open(t, filepath.Join(dir, name))
		require.Len(t, c.Files(), 3)
		var names []string
		for i, x := range c.Tensors() {
			names = append(names, x.Name)
			values, _ := read(t, c, x.Name)
			require.Equal(t, []float32{float32(2 - i), 10}, values)
			require.Equal(t, filepath.Join(dir, partName(i)), c.Files()[i].Path)
		}
		require.Equal(t, []string{"t0", "t1", "t2"}, names)
	}
}

func TestSplitRefused(t *testing.T) {
	rewrite := func(i int, change func(*checkpointtest.GGUF)) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			g := part(i)
			change(&g)
			require.NoError(t, g.Write(filepath.Join(dir, partName(i))))
		}
	}
	for _, c := range []struct {
		name, open string
		change     func(t *testing.T, dir string)
		want       string
	}{
		{"U01 missing", partName(0), func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, partName(1))))
			require.NoError(t, os.Remove(filepath.Join(dir, partName(2))))
		}, "checkpoint DIR/x-00001-of-00003.gguf: 2 of 3 split files are not there: x-00002-of-00003.gguf, x-00003-of-00003.gguf; download them again: incomplete download"},
		{"the folder lacks the first", "", func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, partName(0)))) },
			"checkpoint DIR/x-00002-of-00003.gguf: 1 of 3 split files are not there: x-00001-of-00003.gguf; download them again: incomplete download"},
		{"one cut", "", func(t *testing.T, dir string) { require.NoError(t, os.Truncate(filepath.Join(dir, partName(2)), 160)) },
			"DIR/x-00003-of-00003.gguf: cut file: 160 bytes, want at least 168: incomplete download or copy"},
		{"changed about", partName(0), rewrite(1, func(g *checkpointtest.GGUF) { g.Pairs[0][1] = uint16(2) }),
			"DIR/x-00002-of-00003.gguf: split: named as file 2 of 3, but its metadata says 3 of 3"},
		{"of another split", partName(0), rewrite(1, func(g *checkpointtest.GGUF) { g.Pairs[1][1] = uint16(4) }),
			"DIR/x-00002-of-00003.gguf: split: named as file 2 of 3, but its metadata says 2 of 4"},
		{"no part", partName(0), rewrite(1, func(g *checkpointtest.GGUF) { g.Pairs = nil }),
			"DIR/x-00002-of-00003.gguf: split: named as file 2 of 3, but its metadata has no split.count"},
		{"a tensor twice", partName(0), rewrite(1, func(g *checkpointtest.GGUF) { g.Tensors[0].Name = "t2" }),
			`DIR/x-00002-of-00003.gguf: tensor "t2": duplicate tensor: x-00001-of-00003.gguf holds it too`},
		{"fewer tensors", partName(0), rewrite(1, func(g *checkpointtest.GGUF) { g.Tensors = nil }),
			"DIR/x-00001-of-00003.gguf: split: 2 tensors in 3 files, want 3"},
		{"beyond the count", "x-00004-of-00003.gguf", func(t *testing.T, dir string) {
			require.NoError(t, os.Link(filepath.Join(dir, partName(0)), filepath.Join(dir, "x-00004-of-00003.gguf")))
		}, "checkpoint DIR/x-00004-of-00003.gguf: file 00004 of 00003 split files"},
		{"U42 two models", "", func(t *testing.T, dir string) {
			require.NoError(t, os.Link(filepath.Join(dir, partName(0)), filepath.Join(dir, "other.gguf")))
		}, "checkpoint DIR: the folder holds 2 GGUF models; name one file: other.gguf, x-00001-of-00003.gguf"},
		{"U39 a link out", "", func(t *testing.T, dir string) {
			out := filepath.Join(t.TempDir(), "out.gguf")
			require.NoError(t, os.Rename(filepath.Join(dir, partName(1)), out))
			require.NoError(t, os.Symlink(out, filepath.Join(dir, partName(1))))
		}, "DIR/x-00002-of-00003.gguf: a link to OUT; copy the file itself into the folder: outside the checkpoint"},
	} {
		dir := writeSplit(t)
		c.change(t, dir)
		_, err := checkpoint.Open(filepath.Join(dir, c.open), checkpoint.Options{}, checkpoint.SafeTensors, gguf.Format)
		got := strings.ReplaceAll(fmt.Sprint(err), dir, "DIR")
		if at := strings.Index(got, "a link to /"); at >= 0 {
			got = got[:at] + "a link to OUT" + got[strings.LastIndex(got, "; "):]
		}
		if got != c.want {
			t.Errorf("%s:\n got: %s\nwant: %s", c.name, got, c.want)
		}
	}
}

// A file is known by its name or by how it begins, a folder by the files in it.
func TestMatch(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, data, 0o666))
		return path
	}
	for _, c := range []struct {
		path string
		want bool
	}{
		{write("blob", small().Bytes()), true},
		{write("empty.gguf", nil), true},
		{write("short", []byte("GG")), false},
		{write("other.bin", []byte("PK..............")), false},
		{filepath.Join(dir, "absent.gguf"), false},
		{dir, true},
		{filepath.Dir(write("sub [1]/x.gguf", nil)), true},
		{filepath.Dir(write("none/x.bin", nil)), false},
	} {
		require.Equal(t, c.want, gguf.Format.Match(c.path), c.path)
	}
}
