package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/pager"
	"estream/pager/crc32c"
	"estream/pager/layout"
	"estream/passes"
)

// onNPU is an app with a fake device, its package of a backend's packing, and how
// commands end there.
func onNPU(t *testing.T, packing string) (a *App, dir string, run func(code int, args ...string) (out, said string)) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a = Default()
	a.Stdout, a.Stderr = &stdout, &stderr
	a.Backends = []Backend{{Name: "npu", New: func(lower.Backend) lower.Backend {
		return static.New(lowertest.NewNPU(), passes.Tiers{T: []int{4, 16}, S: []int{1, 64}, R: []int{2, 8}})
	}}}
	run = func(code int, args ...string) (string, string) {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		require.Equal(t, code, Main(a, args), stderr.String())
		return stdout.String(), stderr.String()
	}
	dir = filepath.Join(t.TempDir(), "p")
	run(0, "pack", "--encoding", "f32", "--backend", packing, "../../testdata/olmoe", dir)
	return a, dir, run
}

// unread is a source that nothing is read from.
type unread struct{ pager.Source }

func (unread) ReadAt(context.Context, []byte, int64) error { return errors.New("it was read") }

// What a device cannot do is refused before any of the text is run on the host.
func TestCalibrateDeviceFirst(t *testing.T) {
	tokens := lines(t, sequence(64, 0, 7))
	for _, c := range []struct {
		name, packing, memory, want string
		host                        string // what a run of the text on the host ends with
	}{
		{"another packing", "host", "1GiB", "packing", "it was read"},
		{"too little memory", "npu", "1MiB", "memory budget too small: 1.0 MiB given", "for 64 tokens"},
	} {
		a, dir, run := onNPU(t, c.packing)
		a.Sources = []Source{{Name: "unread", Open: func(_, path string) (pager.Source, error) {
			f, err := pager.OpenFile(path)
			return unread{f}, err
		}}}
		args := []string{"calibrate", "--batch", "16", "--memory", c.memory, "--source", "unread", "--tokens-file", tokens, dir}
		_, said := run(1, args...)
		require.Contains(t, said, c.host, c.name)
		_, said = run(1, append(args, "--backend", "npu")...)
		require.Contains(t, said, c.want, c.name)
		require.NotContains(t, said, c.host, c.name)
	}
}

// Programs of other sizes than those of a new calibration are told of, once for those
// that are alike, with what makes them anew.
func TestCalibrateOutgrows(t *testing.T) {
	t.Setenv(qnnHead, "")
	_, dir, run := onNPU(t, "npu")
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	man, data := pkg.Manifest, []byte("made")
	keep := func(backend, arch, name string) {
		x := layout.Artifact{Backend: backend, Arch: arch, SDK: "2", Name: name, File: arch + "." + backend, Length: int64(len(data)), CRC: crc32c.Checksum(data)}
		require.NoError(t, os.WriteFile(filepath.Join(dir, x.File), data, 0o666))
		man.Files, man.Artifacts = append(man.Files, layout.FileSum{Name: x.File, Size: x.Length, CRC: x.CRC}), append(man.Artifacts, x)
	}
	const old = "programs T4,16 S1,64 R2,8"
	keep("npu", "v1", old)
	keep("npu", "v2", old)
	keep("npu", "v3", "programs T4,16 S1,64 R4,16 G1,2")
	keep("other", "v4", old)
	text, err := layout.Encode(man)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, layout.ManifestName), text, 0o666))

	args := []string{"calibrate", "--batch", "16", "--row-tiers", "4,16", "--groups", "2", "--tokens-file", lines(t, sequence(64, 0, 7)), dir}
	_, said := run(0, args...)
	require.Equal(t, `note: v1.npu is left, and its graphs are compiled at each start: it has `+old+`, runs by this calibration have programs T4,16 S1,64 R4,16 G1,2
      made alike, each for its own device: v2.npu
      to make all anew: estream prepare --soc v1,v2 `+dir+"\n", said)
	_, said = run(0, append(args, "-o", filepath.Join(t.TempDir(), "c.json"))...)
	require.Empty(t, said, "runs go by what the package has")
}

// Where no expert repays a launch, no sizes of launches are told of.
func TestCalibrateAllOnHost(t *testing.T) {
	_, dir, run := onNPU(t, "npu")
	for _, c := range []struct{ us, want string }{{"1000", "all experts run on the host, the device gets none"}, {"0", "tiers of [4 16] rows, launches of [1] experts, the rest on the host"}} {
		out, _ := run(0, "calibrate", "--batch", "16", "--row-tiers", "4,16", "--groups", "1", "--launch-us", c.us, "--body-us", "0", "--row-us", "0", "--tokens-file", lines(t, sequence(64, 0, 7)), dir)
		require.Contains(t, out, "\nchoice    "+c.want+"\n")
	}
}
