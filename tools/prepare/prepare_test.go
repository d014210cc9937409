package prepare_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/passes"
	"estream/tools/pack"
	"estream/tools/prepare"
)

// A compiler is a backend for an architecture that keeps what it is told to.
type compiler struct {
	lower.Backend // the host
	arch, keeps   string
}

func (c compiler) Target(lower.Backend) passes.Target {
	return passes.Target{Host: c, Tiers: passes.Tiers{R: []int{8}}}
}

func (c compiler) ArtifactTarget() (arch, sdk string, err error) {
	if c.arch == "" {
		return "", "", errors.New("no library")
	}
	return c.arch, "2.47", nil
}

func (c compiler) Compile(ctx context.Context, m *ir.Module, p lower.Packing) (lower.Compiled, error) {
	made, err := c.Backend.Compile(ctx, m, p)
	return kept{made, c.keeps}, err
}

type kept struct {
	lower.Compiled
	text string
}

func (k kept) Artifact() ([]byte, error) { return []byte(k.text), nil }

// packed makes a tiny package for a backend's name.
func packed(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	e, err := pack.FindEncoding("f32")
	require.NoError(t, err)
	_, err = pack.Run(t.Context(), "../../testdata/olmoe", dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

// list are the files of a package beside its weights, and its artifacts.
func list(t *testing.T, dir string) (files, artifacts []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "host.") {
			files = append(files, e.Name())
		}
	}
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	for _, a := range pkg.Manifest.Artifacts {
		data, err := pkg.Companion(a.File)
		require.NoError(t, err)
		artifacts = append(artifacts, a.Arch+" "+a.SDK+" "+a.Name+" "+string(data[a.Offset:a.Offset+a.Length]))
	}
	return files, artifacts
}

func TestRun(t *testing.T) {
	h := host.New(host.Options{})
	ops, err := ir.Core()
	require.NoError(t, err)
	dir, o := packed(t), prepare.Options{Host: h, Ops: ops}
	for _, c := range []struct {
		backends         []prepare.Backend
		files, artifacts []string
	}{
		{[]prepare.Backend{compiler{h, "v75", "a"}, compiler{h, "v79", "b"}}, []string{"host.v75.c1d04330.bin", "host.v79.d280b0c4.bin"}, []string{"v75 2.47 programs R8 a", "v79 2.47 programs R8 b"}},
		{[]prepare.Backend{compiler{h, "v75", "a"}}, []string{"host.v75.c1d04330.bin", "host.v79.d280b0c4.bin"}, []string{"v79 2.47 programs R8 b", "v75 2.47 programs R8 a"}},
		{[]prepare.Backend{compiler{h, "v79", "c"}}, []string{"host.v75.c1d04330.bin", "host.v79.20eb33c7.bin"}, []string{"v75 2.47 programs R8 a", "v79 2.47 programs R8 c"}},
	} {
		made, err := prepare.Run(t.Context(), dir, c.backends, o)
		require.NoError(t, err)
		require.Len(t, made, len(c.backends))
		files, artifacts := list(t, dir)
		require.Equal(t, c.artifacts, artifacts)
		require.Equal(t, c.files, files)
	}
	before, err := os.ReadFile(filepath.Join(dir, layout.ManifestName))
	require.NoError(t, err)
	for _, c := range []struct {
		backends []prepare.Backend
		want     string
	}{
		{[]prepare.Backend{compiler{h, "v81", "x"}, compiler{h, "v81", "y"}}, "v81 is asked for twice"},
		{[]prepare.Backend{compiler{h, "v81", "x"}, compiler{h, "", "y"}}, "no library"},
		{[]prepare.Backend{compiler{h, "v81", ""}}, "host for v81: it keeps nothing of what it compiles"},
		{[]prepare.Backend{compiler{stranger{h}, "v81", "x"}}, "packed as host, which tpu does not read: estream repack --backend tpu PACKAGE NEW"},
	} {
		_, err := prepare.Run(t.Context(), dir, c.backends, o)
		require.EqualError(t, err, "package "+dir+": "+c.want)
		after, err := os.ReadFile(filepath.Join(dir, layout.ManifestName))
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	require.NoError(t, layout.Verify(t.Context(), pkg, nil))
}

// stranger reads no packing.
type stranger struct{ lower.Backend }

func (stranger) Name() string              { return "tpu" }
func (stranger) Packings() []lower.Packing { return nil }

// meanwhile is a compiler during whose work something else happens.
type meanwhile struct {
	compiler
	do func()
}

func (m meanwhile) Compile(ctx context.Context, mod *ir.Module, p lower.Packing) (lower.Compiled, error) {
	m.do()
	return m.compiler.Compile(ctx, mod, p)
}

// What another keeps in the package meanwhile stays.
func TestTwoAtOnce(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	dir, o := packed(t), prepare.Options{Host: host.New(host.Options{}), Ops: ops}
	run := func(b prepare.Backend) {
		_, err := prepare.Run(t.Context(), dir, []prepare.Backend{b}, o)
		require.NoError(t, err)
	}
	plain := func(arch string) compiler { return compiler{host.New(host.Options{}), arch, "for " + arch} }
	run(meanwhile{plain("v79"), func() { run(plain("v75")) }})
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	require.Len(t, pkg.Manifest.Artifacts, 2)
}

// What killed ones have left goes with the next, and nothing else does.
func TestLeftovers(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	dir, o := packed(t), prepare.Options{Host: host.New(host.Options{}), Ops: ops}
	left := []string{"model.fb.123.new", "host.v79.d280b0c4.bin.77.new", "qnn-htp.v79.00000000.bin", "calibration.json.4711"}
	kept := []string{"notes.new", "my.bin", "calibration.json", "calibration.json.old"}
	for _, name := range append(left, kept...) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	begun, err := layout.CreateTemp(filepath.Join(dir, "calibration.json"), "")
	require.NoError(t, err)
	defer begun.Close()
	kept = append(kept, filepath.Base(begun.Name()))
	_, err = prepare.Run(t.Context(), dir, []prepare.Backend{compiler{o.Host, "v75", "a"}}, o)
	require.NoError(t, err)
	for _, name := range left {
		require.NoFileExists(t, filepath.Join(dir, name))
	}
	for _, name := range append(kept, "host.v75.c1d04330.bin") {
		require.FileExists(t, filepath.Join(dir, name))
	}
}

// A manifest that others may not read stays so.
func TestMode(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	dir, o := packed(t), prepare.Options{Host: host.New(host.Options{}), Ops: ops}
	require.NoError(t, os.Chmod(filepath.Join(dir, layout.ManifestName), 0o600))
	_, err = prepare.Run(t.Context(), dir, []prepare.Backend{compiler{o.Host, "v75", "a"}}, o)
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, layout.ManifestName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// Many that begin and end at once, in goroutines and in processes, keep all that they
// made, and the package is whole.
func TestManyAtOnce(t *testing.T) {
	dir := packed(t)
	const processes, each = 3, 4
	var wait sync.WaitGroup
	for i := range processes {
		wait.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrepareMany$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", manyVariable, i, each, dir))
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
	prepareMany(t, dir, processes, each)
	wait.Wait()
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	require.NoError(t, layout.Verify(t.Context(), pkg, nil))
	var got, want []string
	for _, a := range pkg.Manifest.Artifacts {
		data, err := pkg.Companion(a.File)
		require.NoError(t, err)
		got = append(got, a.Arch+" "+string(data))
	}
	for i := range processes + 1 {
		for n := range each {
			want = append(want, fmt.Sprintf("v%d.%d for v%d.%d", i, n, i, n))
		}
	}
	require.ElementsMatch(t, want, got)
	left, err := filepath.Glob(filepath.Join(dir, "*.new"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// manyVariable tells TestPrepareMany which process it is, how many to start, and where.
const manyVariable = "PREPARE_TEST_MANY"

// TestPrepareMany is a process of TestManyAtOnce.
func TestPrepareMany(t *testing.T) {
	var i, each int
	var dir string
	if _, err := fmt.Sscan(os.Getenv(manyVariable), &i, &each, &dir); err != nil {
		t.Skip("TestManyAtOnce says what to prepare")
	}
	prepareMany(t, dir, i, each)
}

// prepareMany prepares a package for so many architectures at once.
func prepareMany(t *testing.T, dir string, i, each int) {
	ops, err := ir.Core()
	require.NoError(t, err)
	var wait sync.WaitGroup
	for n := range each {
		wait.Go(func() {
			h := host.New(host.Options{Threads: 1})
			arch := fmt.Sprintf("v%d.%d", i, n)
			_, err := prepare.Run(t.Context(), dir, []prepare.Backend{compiler{h, arch, "for " + arch}}, prepare.Options{Host: h, Ops: ops})
			assert.NoError(t, err, arch)
		})
	}
	wait.Wait()
}
