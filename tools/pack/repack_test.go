package pack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/lowertest"
	"estream/pager/crc32c"
	"estream/pager/layout"
)

func npuPacking() lower.Packing { return lowertest.NewNPU().Packings()[0] }

func repackOptions(t testing.TB, backend string, to lower.Packing) RepackOptions {
	ops, err := ir.Core()
	require.NoError(t, err)
	return RepackOptions{Options: Options{Backend: backend, Packing: to}, Known: []lower.Packing{hostPacking(), npuPacking()}, Ops: ops}
}

func repacked(t testing.TB, from string, o RepackOptions) (dir string, r *Report) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "pkg")
	r, err := Repack(t.Context(), from, dir, o)
	require.NoError(t, err)
	return dir, r
}

// Repacked is what packing for that backend would have made; back again it is
// the same package; and it computes the same.
func TestRepack(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.vocab = 112
	from := c.write(t)
	for _, e := range []string{"w4", "w8", "bf16", "f32"} {
		t.Run(e, func(t *testing.T) {
			o := options(t, e)
			forHost, _ := packed(t, from, o)
			o.Backend, o.Packing = "npu", npuPacking()
			want, _ := packed(t, from, o)

			forNPU, report := repacked(t, forHost, repackOptions(t, "npu", npuPacking()))
			requireSame(t, want, forNPU)
			require.Equal(t, "olmoe", report.Family)
			require.Zero(t, report.Kept)
			again, _ := repacked(t, forNPU, repackOptions(t, "host", hostPacking()))
			requireSame(t, forHost, again)
			require.Equal(t, logits(t, forHost, 3, 1, 4), logits(t, forNPU, 3, 1, 4))
		})
	}
}

// Another alignment or backend alone is change enough: what comes is what packing
// so would have made.
func TestRepackSamePacking(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	o := options(t, "w4")
	forHost, _ := packed(t, from, o)
	o.Align = 4 << 10
	want, _ := packed(t, from, o)
	to := repackOptions(t, "host", hostPacking())
	to.Align = 4 << 10
	got, _ := repacked(t, forHost, to)
	requireSame(t, want, got)
	again, _ := repacked(t, got, func() RepackOptions { to.Align = layout.DefaultAlign; return to }())
	requireSame(t, forHost, again)

	named, _ := repacked(t, forHost, repackOptions(t, "other", hostPacking()))
	pkg, err := layout.Open(named)
	require.NoError(t, err)
	require.Equal(t, []string{"other"}, pkg.Manifest.Backends)
}

// A table of several blocks and tasks, another alignment, and artifacts of the
// old backend.
func TestRepackLarger(t *testing.T) {
	t.Parallel()
	c := smallToy()
	c.hidden, c.vocab = 512, 5000
	from := c.write(t)
	forHost, _ := packed(t, from, options(t, "bf16"))
	o := repackOptions(t, "npu", npuPacking())
	o.Align = 4 << 10
	forNPU, _ := repacked(t, forHost, o)
	s := load(t, forNPU, npuPacking())
	require.EqualValues(t, 4<<10, s.man.Align)
	c.check(t, s)
}

func TestRepackErrors(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	forHost, _ := packed(t, from, options(t, "w4"))
	full, _ := packed(t, from, options(t, "w4full"))
	damagedAt := func(file string, at func(m *layout.Manifest) int64) string {
		dir, _ := packed(t, from, options(t, "w4"))
		pkg, err := layout.Open(dir)
		require.NoError(t, err)
		data, err := os.ReadFile(pkg.Path(file))
		require.NoError(t, err)
		data[at(pkg.Manifest)] ^= 1
		require.NoError(t, os.WriteFile(pkg.Path(file), data, 0o666))
		return dir
	}
	unknown := repackOptions(t, "npu", npuPacking())
	unknown.Known = unknown.Known[1:]
	aligned := repackOptions(t, "host", hostPacking())
	aligned.Align = layout.DefaultAlign
	for _, c := range []struct {
		name, from string
		o          RepackOptions
		want       string // a regular expression
	}{
		{"the same", forHost, repackOptions(t, "host", hostPacking()), `^package .*: it is packed as host for host and aligned to 16384 already; copy it, or ask for another backend or alignment$`},
		{"the same alignment", forHost, aligned, `^package .*: it is packed as host for host and aligned to 16384 already; copy it, or ask for another backend or alignment$`},
		{"unknown", forHost, unknown, `^package .*: its packing "host" is unknown; known: npu.kn$`},
		{"no form", full, repackOptions(t, "npu", npuPacking()), `^package .*: pass layout: record expert0: weight expert.gate.weight: packing npu.kn has no form of w4full32\[32,64\]: unsupported$`},
		{"checkpoint", from, repackOptions(t, "npu", npuPacking()), `has no model.fb; make a package with estream pack: not a package$`},
		{"damaged expert", damagedAt(layout.ExpertsName, func(m *layout.Manifest) int64 { return m.Experts[5].Offset + m.Experts[5].Length - 1 }), repackOptions(t, "npu", npuPacking()),
			`record expert0 1.1 is damaged: its checksum is [0-9a-f]{8}, not [0-9a-f]{8}; copy or pack the package again$`},
		{"damaged head", damagedAt(layout.DenseName, func(m *layout.Manifest) int64 { return m.Dense[len(m.Dense)-1].Offset }), repackOptions(t, "npu", npuPacking()),
			`record head.proj 2.\d+ is damaged: its checksum is [0-9a-f]{8}, not [0-9a-f]{8}; copy or pack the package again$`},
		{"damaged row", damagedAt(layout.DenseName, func(m *layout.Manifest) int64 { return m.Rows[0].Offset + 3 }), repackOptions(t, "npu", npuPacking()),
			`rows "embed.weight" block 0 is damaged: its checksum is [0-9a-f]{8}, not [0-9a-f]{8}; copy or pack the package again$`},
	} {
		_, err := Repack(t.Context(), c.from, filepath.Join(t.TempDir(), "pkg"), c.o)
		require.Error(t, err, c.name)
		require.Regexp(t, c.want, err.Error(), c.name)
	}
}

// A stranger's package whose records are not what its module says is refused
// before anything is written.
func TestRepackRefusesForeignRecords(t *testing.T) {
	t.Parallel()
	from := smallToy().write(t)
	for name, c := range map[string]struct {
		spoil func(m *layout.Manifest)
		want  string
	}{
		"fewer":   {func(m *layout.Manifest) { m.Experts = m.Experts[:7] }, "experts.bin: 7 records, where the module has 8"},
		"class":   {func(m *layout.Manifest) { m.Experts[3].Class = "c0" }, "experts.bin: record 3 is c0 0.3, where the module has expert0 0.3"},
		"length":  {func(m *layout.Manifest) { m.Dense[1].Length -= 64 }, "dense.bin: record 1 has %d bytes and 9 factors, where the module has %d and 9"},
		"factors": {func(m *layout.Manifest) { m.Dense[1].Factors = m.Dense[1].Factors[1:] }, "dense.bin: record 1 has %[2]d bytes and 8 factors, where the module has %[2]d and 9"},
		"rows":    {func(m *layout.Manifest) { m.Rows[0].RowBytes -= 2 }, "dense.bin: rows of 64 bytes, where the module's take 66"},
		"name":    {func(m *layout.Manifest) { m.Rows[0].Name = "pos" }, `dense.bin: rows "pos", where the module has "embed.weight"`},
		"no rows": {func(m *layout.Manifest) { m.Rows = nil }, "it has no table of embeddings, or no backend"},
		"no head": {func(m *layout.Manifest) { m.Dense = m.Dense[:3] }, "it has no records of the head"},
		"order": {func(m *layout.Manifest) {
			m.Module = swapOffsets(t, m.Module, "expert.gate.weight", "expert.up.weight")
		}, "record expert0: weight expert.up.weight stands where expert.gate.weight belongs"},
		"module": {func(m *layout.Manifest) { m.Module = "module" }, `ir text, line 1: "module" stands outside its graph`},
	} {
		dir, _ := packed(t, from, options(t, "w4"))
		pkg, err := layout.Open(dir)
		require.NoError(t, err)
		length := pkg.Manifest.Dense[1].Length
		c.spoil(pkg.Manifest)
		data, err := layout.Encode(pkg.Manifest)
		require.NoError(t, err, name)
		require.NoError(t, os.WriteFile(pkg.Path(layout.ManifestName), data, 0o666))
		parent := t.TempDir()
		_, err = Repack(t.Context(), dir, filepath.Join(parent, "pkg"), repackOptions(t, "npu", npuPacking()))
		want := c.want
		if name == "length" || name == "factors" {
			want = fmt.Sprintf(want, length-64, length)
		}
		require.ErrorContains(t, err, "package "+dir+": "+want, "U41 "+name)
		requireOnly(t, parent)
	}
}

// swapOffsets exchanges the offsets of two weights in the text of a module.
func swapOffsets(t *testing.T, module, a, b string) string {
	at := func(name string) string {
		m := regexp.MustCompile(name + ` = weight offset=(\d+)`).FindStringSubmatch(module)
		require.NotNil(t, m, name)
		return m[1]
	}
	atA, atB := at(a), at(b)
	module = strings.ReplaceAll(module, a+" = weight offset="+atA, a+" = weight offset="+atB)
	return strings.ReplaceAll(module, b+" = weight offset="+atB, b+" = weight offset="+atA)
}

// Companions stay; what the old backend compiled does not.
func TestRepackLeavesArtifacts(t *testing.T) {
	t.Parallel()
	dir, _ := packed(t, smallToy().write(t), options(t, "w4"))
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pkg.Path("host.bin"), []byte("compiled"), 0o666))
	m := pkg.Manifest
	m.Files = append(m.Files, layout.FileSum{Name: "host.bin", Size: 8, CRC: crc32c.Checksum([]byte("compiled"))})
	m.Artifacts = []layout.Artifact{{Backend: "host", Name: "c0.body", File: "host.bin", Length: 8}}
	data, err := layout.Encode(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(pkg.Path(layout.ManifestName), data, 0o666))
	got, _ := repacked(t, dir, repackOptions(t, "npu", npuPacking()))
	requireOnly(t, got, "dense.bin", "experts.bin", "model.fb", "tokenizer.json")
	require.Empty(t, load(t, got, npuPacking()).man.Artifacts)
}

// A repack goes on as a pack does, from the same package only.
func TestRepackResumes(t *testing.T) {
	t.Parallel()
	c := smallToy()
	forHost, _ := packed(t, c.write(t), options(t, "w4"))
	want, _ := repacked(t, forHost, repackOptions(t, "npu", npuPacking()))
	dir := filepath.Join(t.TempDir(), "pkg")
	o := repackOptions(t, "npu", npuPacking())
	o.Sync, o.Workers = 1, 1
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(done, total int64) {
		if done > total/2 {
			cancel()
		}
	}
	_, err := Repack(ctx, forHost, dir, o)
	var u *Unfinished
	require.ErrorAs(t, err, &u)
	require.Greater(t, u.Kept, u.Total/2)

	other, _ := packed(t, c.write(t), options(t, "w8"))
	o.Progress = nil
	_, err = Repack(t.Context(), other, dir, o)
	require.ErrorContains(t, err, "was begun with other arguments or from other sources: the hash of the package's manifest was ")

	kept := int64(0)
	o.Resumed = func(n, total int64) { kept = n }
	report, err := Repack(t.Context(), forHost, dir, o)
	require.NoError(t, err)
	require.Equal(t, u.Kept, kept)
	require.InDelta(t, float64(u.Kept)/float64(u.Total), report.Kept, 1e-9)
	requireSame(t, want, dir)
}
