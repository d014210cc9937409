package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/passes"
	"estream/tools/cli"
)

// A keeping device of an architecture leaves all to the host, and loads nothing that is kept for it.
type keeping struct {
	lower.Backend
	arch string
}

func (keeping) Name() string                             { return "keeping" }
func (keeping) Target(h lower.Backend) passes.Target     { return passes.Target{Host: h} }
func (k keeping) ArtifactTarget() (a, s string, e error) { return k.arch, "2", nil }

func (k keeping) ArtifactFits(arch, sdk string) error {
	if arch != "any" && arch != k.arch {
		return fmt.Errorf("it is for %s", arch)
	}
	return nil
}

func (keeping) Load(context.Context, *ir.Module, lower.Packing, []byte) (lower.Compiled, error) {
	return nil, fmt.Errorf("it has other graphs: %w", lower.ErrUnsupported)
}

// What runs or plans a package tells of programs that are of no use, and refuses those of other devices; either names
// the command that makes them for this one.
func TestUnused(t *testing.T) {
	ownCache(t)
	t.Setenv("ESTREAM_QNN_HEAD", "")
	keeps := func(arch string) string {
		dir := filepath.Join(t.TempDir(), "a package")
		require.NoError(t, os.CopyFS(dir, os.DirFS(packed(t, tiny, "w4"))))
		pkg, err := layout.Open(dir)
		require.NoError(t, err)
		man, data := pkg.Manifest, []byte("made")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "made"), data, 0o666))
		sum := layout.FileSum{Name: "made", Size: int64(len(data)), CRC: crc32c.Checksum(data)}
		man.Files = append(man.Files, sum)
		man.Artifacts = []layout.Artifact{{Backend: "keeping", Arch: arch, SDK: "2", Name: "programs", File: sum.Name, Length: sum.Size, CRC: sum.CRC}}
		text, err := layout.Encode(man)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, layout.ManifestName), text, 0o666))
		return dir
	}
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "keeping", New: func(h lower.Backend) lower.Backend { return keeping{h, "v1"} }}}
	left, refused := keeps("any"), keeps("v2")
	for _, command := range [][]string{{"run", "--tokens", "1,2,3"}, {"plan", "--tokens", "8"}, {"bench", "-p", "4,8", "-t", "1,2", "-r", "1", "--no-warmup"}} {
		again := "estream prepare --soc v1 '" + left + "'\n"
		code, _, said := runApp(a, append(command, "--backend", "keeping", left)...)
		require.Zero(t, code, said)
		require.Equal(t, 1, strings.Count(said, "note: made is left, and its graphs are compiled at each start: it has other graphs: "), "%v: %s", command, said)
		require.Contains(t, said, ": to make it anew: "+again, command)

		code, _, said = runApp(a, append(command, "--backend", "keeping", refused)...)
		require.Equal(t, 1, code, said)
		require.Contains(t, said, ": none of its compiled programs is for this device: it is for v2: estream prepare --soc v1 '"+refused+"'\n", command)
	}
}

// What stderr shows of names obeys no terminal.
func TestStderrVisible(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "\x1b[2Jp")
	require.NoError(t, os.CopyFS(dir, os.DirFS(packed(t, tiny, "w4"))))
	r := ok(t, "bench", "-p", "4", "-r", "1", "-o", "jsonl", "--output-err", "csv", "--profile", dir)
	require.Contains(t, r.errors, "\uFFFD[2Jp")
	require.NotContains(t, r.errors, "\x1b")
}
