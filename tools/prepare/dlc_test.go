package prepare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/passes"
	"estream/tools/pack"
	"estream/tools/prepare"
)

// described packs a tiny package for a device with tiers.
func described(t *testing.T) (dir string, npu *static.Backend, o prepare.Options) {
	t.Helper()
	npu = static.New(lowertest.NewNPU(), passes.Tiers{T: []int{1, 4}, S: []int{8}, R: []int{2}})
	e, err := pack.FindEncoding("f32")
	require.NoError(t, err)
	dir = filepath.Join(t.TempDir(), "p")
	_, err = pack.Run(t.Context(), "../../testdata/olmoe", dir, pack.Options{
		Encoding: e, Backend: npu.Name(), Packing: npu.Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	ops, err := ir.Core()
	require.NoError(t, err)
	return dir, npu, prepare.Options{Host: host.New(host.Options{}), Ops: ops}
}

// TestDescribe: each tier's graph is written once; if one cannot be, what was there stays.
func TestDescribe(t *testing.T) {
	dir, npu, o := described(t)
	to := filepath.Join(t.TempDir(), "graphs")
	text, fails := "first", ""
	write := func(_ context.Context, g *ir.Graph, p lower.Packing, path string) error {
		if g.Name == fails {
			return errors.New("no room")
		}
		require.Equal(t, npu.Packings()[0].Name, p.Name)
		return os.WriteFile(path, []byte(text+" "+g.Name), 0o600)
	}
	made, err := prepare.Describe(t.Context(), dir, to, npu, write, o)
	require.NoError(t, err)
	var graphs []string
	for _, m := range made {
		graphs = append(graphs, m.Graph)
		require.Equal(t, filepath.Join(to, m.Graph+".dlc"), m.File)
		require.EqualValues(t, len("first "+m.Graph), m.Bytes)
	}
	require.ElementsMatch(t, []string{"expert0@R2", "c0.body@T1,S8", "c0.body@T4,S8", "c0.tail@T1", "c0.tail@T4"}, graphs)

	text, fails = "second", graphs[len(graphs)-1]
	_, err = prepare.Describe(t.Context(), dir, to, npu, write, o)
	require.EqualError(t, err, "package "+dir+": no room")
	entries, err := os.ReadDir(to)
	require.NoError(t, err)
	require.Len(t, entries, len(graphs), "and nothing else")
	plain := filepath.Join(t.TempDir(), "any")
	require.NoError(t, os.WriteFile(plain, nil, 0o666))
	fresh, err := os.Stat(plain)
	require.NoError(t, err)
	usual := fresh.Mode().Perm() // by the umask
	for _, m := range made {
		is, err := os.ReadFile(m.File)
		require.NoError(t, err)
		require.Equal(t, "first "+m.Graph, string(is))
		info, err := os.Stat(m.File)
		require.NoError(t, err)
		require.Equal(t, usual, info.Mode().Perm(), "whatever mode it was written with")
	}
	text, fails = "third", ""
	require.NoError(t, os.Chmod(made[0].File, 0o400))
	left, kept := filepath.Join(to, ".dlc123"), filepath.Join(to, ".dlcs")
	require.NoError(t, os.MkdirAll(filepath.Join(left, "x"), 0o700), "of one that was killed")
	require.NoError(t, os.Mkdir(kept, 0o700))
	_, err = prepare.Describe(t.Context(), dir, to, npu, write, o)
	require.NoError(t, err)
	for i, want := range []os.FileMode{0o400, usual} {
		info, err := os.Stat(made[i].File)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), "that of the file that it replaces")
	}
	require.NoDirExists(t, left)
	require.DirExists(t, kept)

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	before, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, in := range []string{dir, filepath.Join(dir, "a"), filepath.Join(dir, "a", "b", "c"), link, filepath.Join(link, "a", "b")} {
		_, err = prepare.Describe(t.Context(), dir, in, npu, write, o)
		require.EqualError(t, err, dir+" is a package: name another folder for DLCs", in)
	}
	after, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Equal(t, before, after)

	write = func(context.Context, *ir.Graph, lower.Packing, string) error {
		t.Error("a graph was written, want places looked at before")
		return nil
	}
	blocked := filepath.Join(to, graphs[len(graphs)-1]+".dlc")
	require.NoError(t, os.Remove(blocked))
	require.NoError(t, os.Mkdir(blocked, 0o700))
	_, err = prepare.Describe(t.Context(), dir, to, npu, write, o)
	require.EqualError(t, err, blocked+" is a folder: name another folder for DLCs")
	in := filepath.Join(made[0].File, "deep")
	_, err = prepare.Describe(t.Context(), dir, in, npu, write, o)
	require.EqualError(t, err, in+" cannot be written to: name another folder for DLCs: mkdir "+made[0].File+": not a directory")
}
