package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// A keeping device is one of an architecture that loads what is kept for it.
type keeping struct {
	lower.Backend
	arch   string
	head   []int // tiers of it
	loaded []string
	refuse error
}

// Target leaves all graphs to the host.
func (k *keeping) Target(h lower.Backend) passes.Target {
	return passes.Target{Host: h, Tiers: passes.Tiers{T: []int{16, 1}, R: []int{4}, G: []int{1}, L: k.head}}
}

func (k *keeping) Name() string { return "keeping" }

func (k *keeping) Load(ctx context.Context, m *ir.Module, p lower.Packing, artifact []byte) (lower.Compiled, error) {
	k.loaded = append(k.loaded, string(artifact))
	if k.refuse != nil {
		return nil, k.refuse
	}
	return k.Compile(ctx, m, p)
}

func (k *keeping) ArtifactTarget() (arch, sdk string, err error) {
	if k.arch == "" {
		return "", "", errors.New("no device")
	}
	return k.arch, "2", nil
}

func (k *keeping) ArtifactFits(arch, sdk string) error {
	if arch != k.arch {
		return fmt.Errorf("made for %s by %s, the device is %s", arch, sdk, k.arch)
	}
	return nil
}

// keep adds what was compiled for architectures to a package.
func keep(t *testing.T, dir string, archs ...string) {
	t.Helper()
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	man := pkg.Manifest
	for _, arch := range archs {
		name, data := "made."+arch, []byte("for "+arch)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
		sum := layout.FileSum{Name: name, Size: int64(len(data)), CRC: crc32c.Checksum(data)}
		man.Files = append(man.Files, sum)
		man.Artifacts = append(man.Artifacts, layout.Artifact{Backend: "keeping", Arch: arch, SDK: "2", Name: "programs T1,16 R4", File: name, Length: sum.Size, CRC: sum.CRC})
	}
	text, err := layout.Encode(man)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, layout.ManifestName), text, 0o666))
}

// A device loads what the package keeps for it, and refuses a package that keeps
// programs for others alone.
func TestArtifacts(t *testing.T) {
	dir := packed(t, tiny, "f32")
	opened := func(k *keeping) error {
		k.Backend = host.New(host.Options{})
		m, err := runtime.Open(t.Context(), dir, runtime.Options{Device: k})
		if err != nil {
			return err
		}
		return m.Close()
	}
	none := &keeping{arch: "v1"}
	require.NoError(t, opened(none))
	require.Empty(t, none.loaded)
	keep(t, dir, "v1", "v2")
	for _, arch := range []string{"v1", "v2"} {
		k := &keeping{arch: arch}
		require.NoError(t, opened(k))
		require.Equal(t, []string{"for " + arch}, k.loaded)
	}
	require.NoError(t, os.Rename(filepath.Join(dir, "made.v1"), filepath.Join(dir, "away")))
	require.NoError(t, opened(&keeping{arch: "v2"}), "what others need is missing")
	require.EqualError(t, opened(&keeping{arch: "v1"}), "package "+dir+": made.v1: is missing: copy the package again, or compile it anew with estream prepare")
	require.NoError(t, os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "made.v1")))
	other := &keeping{arch: "v1", refuse: fmt.Errorf("of other graphs: %w", lower.ErrUnsupported)}
	require.NoError(t, opened(other), "it is compiled")
	require.Len(t, other.loaded, 1)
	require.EqualError(t, opened(&keeping{arch: "v1", refuse: errors.New("broken")}), "package "+dir+": broken")
	require.EqualError(t, opened(&keeping{}), "package "+dir+": no device")
	err := opened(&keeping{arch: "v3"})
	require.EqualError(t, err, "package "+dir+": none of its compiled programs is for this device: made for v2 by 2, the device is v3; made for v1 by 2, the device is v3")
	var e *runtime.ArtifactsError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{dir, "v3"}, []string{e.Dir, e.Device})
}

// A model tells what the package keeps and the device did not load, and in what it
// differs, and nothing where it was loaded.
func TestUnused(t *testing.T) {
	dir := packed(t, tiny, "f32")
	keep(t, dir, "v1")
	refused := fmt.Errorf("of other graphs: %w", lower.ErrUnsupported)
	for _, c := range []struct {
		name string
		k    keeping
		want []runtime.TierChange
	}{
		{"it fits", keeping{}, nil},
		{"of other graphs", keeping{refuse: refused}, nil},
		{"of other sizes", keeping{refuse: refused, head: []int{16, 1}}, []runtime.TierChange{{Symbol: "L", Made: "", Now: "1,16"}}},
	} {
		c.k.Backend, c.k.arch = host.New(host.Options{}), "v1"
		u := open(t, dir, runtime.Options{Device: &c.k}).Unused()
		if c.k.refuse == nil {
			require.Nil(t, u, c.name)
			continue
		}
		require.NotNil(t, u, c.name)
		require.Equal(t, "made.v1", u.File)
		require.Equal(t, "v1", u.Device)
		require.ErrorIs(t, u.Err, lower.ErrUnsupported)
		require.Equal(t, c.want, u.Sizes, c.name)
	}
	require.Equal(t, "programs T1,16 S64 R1,4 G1,2 L8", runtime.ProgramsName(passes.Tiers{T: []int{16, 1, 1}, S: []int{64}, R: []int{1, 4}, G: []int{2, 1}, L: []int{8}, P: []int{3}}))
}
