package layout

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVerifyWhole(t *testing.T) {
	p := written(t)
	var last, calls, total int64
	require.NoError(t, Verify(t.Context(), p, func(done, all int64) {
		require.Greater(t, done, last)
		last, total = done, all
		calls++
	}))
	require.Equal(t, total, last)
	require.Greater(t, calls, int64(len(p.Manifest.Experts)))
}

func TestVerifyNamesDamage(t *testing.T) {
	p := written(t)
	m := p.Manifest
	r := m.Experts[6]
	d := m.Dense[4]
	block, _ := m.Rows[0].Block(1)
	for _, c := range []struct {
		file string
		at   int64
		want string
	}{
		{ExpertsName, r.Offset + r.Length - 1, fmt.Sprintf(`experts\.bin: layer 1 expert 1: checksum of %d bytes at offset %d is [0-9a-f]{8}, not %08x$`, r.Length, r.Offset, r.CRC)},
		{DenseName, d.Offset, fmt.Sprintf(`dense\.bin: layer 3 dense 1: checksum of %d bytes at offset %d is [0-9a-f]{8}, not %08x$`, d.Length, d.Offset, d.CRC)},
		{DenseName, block + 5, fmt.Sprintf(`dense\.bin: rows "embed" block 1: checksum of 32768 bytes at offset %d is [0-9a-f]{8}, not %08x$`, block, m.Rows[0].Blocks[1])},
		{"tokenizer.json", 3, `tokenizer\.json: checksum of 13 bytes at offset 0 is [0-9a-f]{8}, not [0-9a-f]{8}$`},
	} {
		flip(t, p.Path(c.file), c.at)
		_, err := Open(p.Dir)
		require.NoError(t, err, "Open reads no weights")
		err = Verify(t.Context(), p, nil)
		require.Regexp(t, "^package "+p.Dir+" is damaged; copy or pack it again:\n"+c.want, err.Error())
		var typed *Error
		require.ErrorAs(t, err, &typed)
		flip(t, p.Path(c.file), c.at)
	}
	require.NoError(t, Verify(t.Context(), p, nil))
}

func TestVerifyGoesOnUpToABound(t *testing.T) {
	p := written(t)
	flip(t, p.Path("config.json"), 0)
	flip(t, p.Path(ExpertsName), 0)
	table := p.Manifest.Rows[0]
	last := len(table.Blocks) - 1
	at, n := table.Block(last)
	require.NoError(t, os.Truncate(p.Path(DenseName), at+n-1))
	err := Verify(t.Context(), p, nil)
	damage := damageOf(err)
	require.Len(t, damage, 3, "%v", err) // config.json, a block, an expert
	require.EqualError(t, damage[1], fmt.Sprintf("dense.bin: rows \"embed\" block %d at offset %d: unexpected EOF", last, at))

	require.NoError(t, os.Remove(p.Path(ExpertsName)))
	damage = damageOf(Verify(t.Context(), p, nil))
	require.EqualError(t, damage[len(damage)-1], "experts.bin: is missing: copy the package again")

	require.NoError(t, os.Truncate(p.Path(DenseName), 0))
	require.Len(t, damageOf(Verify(t.Context(), p, nil)), maxDamage)
}

func damageOf(err error) []error {
	joined := err.(interface{ Unwrap() error }).Unwrap()
	return joined.(interface{ Unwrap() []error }).Unwrap()
}

func TestVerifyCancelled(t *testing.T) {
	p := written(t)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Verify(ctx, p, func(int64, int64) { calls++; cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, calls)
}

// withArtifact is a package in whose config.json a compiled program of two bytes lies.
func withArtifact(t *testing.T, crc uint32) *Package {
	t.Helper()
	s := newSource(t)
	dir := t.TempDir() + "/pkg"
	w := create(t, dir, s.plan)
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	s.manifest.Artifacts = []Artifact{{Backend: "qnn", Name: "body", File: "config.json", Length: 2, CRC: crc}}
	require.NoError(t, w.Finish(s.manifest))
	p, err := Open(dir)
	require.NoError(t, err)
	return p
}

func TestVerifyArtifact(t *testing.T) {
	damage := damageOf(Verify(t.Context(), withArtifact(t, 5), nil))
	require.Len(t, damage, 1)
	require.Regexp(t, `^config.json: artifact 0 "body": checksum of 2 bytes at offset 0 is [0-9a-f]{8}, not 00000005$`, damage[0].Error())
}

// Of a damaged file with compiled programs one line tells, and that they can be made anew.
func TestVerifyCompiled(t *testing.T) {
	p := withArtifact(t, 5)
	path := p.Path("config.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	const anew, again = "copy it again, or compile it anew with estream prepare", "copy or pack it again"
	flipped := func() error { flip(t, path, 0); return nil }
	for _, c := range []struct {
		spoil        func() error
		remedy, want string
	}{
		{func() error { return os.Truncate(path, 1) }, anew, fmt.Sprintf(`config\.json: was cut: 1 bytes on disk, %d in the manifest; copy the package again`, len(data))},
		{func() error { return os.Truncate(path, 0) }, anew, fmt.Sprintf(`config\.json: was cut: 0 bytes on disk, %d in the manifest; copy the package again`, len(data))},
		{func() error { return os.WriteFile(path, append(data, 0), 0o600) }, anew, fmt.Sprintf(`config\.json: is too long: %d bytes on disk, %d in the manifest; copy the package again`, len(data)+1, len(data))},
		{flipped, anew, fmt.Sprintf(`config\.json: checksum of %d bytes at offset 0 is [0-9a-f]{8}, not [0-9a-f]{8}`, len(data))},
		{func() error { return os.Remove(path) }, anew, `config\.json: is missing: copy the package again`},
		{func() error { flip(t, p.Path(ExpertsName), 0); return flipped() }, again, `experts\.bin: layer 0 expert 0: checksum of .*\nconfig\.json: checksum of .*|config\.json: checksum of .*\nexperts\.bin: layer 0 expert 0: checksum of .*`},
	} {
		require.NoError(t, c.spoil())
		err := Verify(t.Context(), p, nil)
		require.Regexp(t, "^package "+p.Dir+" is damaged; "+c.remedy+":\n(?:"+c.want+")$", err.Error())
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
}
