package layout

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A source is a small package's content, made from a seed.
type source struct {
	plan           Plan
	manifest       *Manifest
	experts, dense [][]byte
	rows           []byte
}

func newSource(t testing.TB) source {
	const layers, experts, align = 3, 5, 4096
	rng := rand.New(rand.NewPCG(7, 7))
	random := func(n int) []byte {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return p
	}
	s := source{plan: Plan{Align: align, CompanionNames: []string{"config.json", "tokenizer.json"}}, manifest: &Manifest{Family: "tiny", Module: "module"}}
	for i := range layers * experts {
		n := 1 + rng.IntN(3*align)
		s.experts = append(s.experts, random(n))
		s.manifest.Experts = append(s.manifest.Experts, Record{Layer: i / experts, Index: i % experts, Class: "e", Length: int64(n), Factors: []float32{0.5}})
	}
	for i := range layers + 3 {
		n := 1 + rng.IntN(align)
		s.dense = append(s.dense, random(n))
		s.manifest.Dense = append(s.manifest.Dense, Record{Layer: min(i, layers), Index: max(0, i-layers), Class: "d", Length: int64(n)})
	}
	embed := Region{Name: "embed", Rows: 1100, RowStride: 1001, RowBytes: 1000, Factor: 2}
	s.rows = random(1100 * 1000)
	s.plan.Experts = place(t, align, s.manifest.Experts)
	s.plan.Dense = place(t, align, s.manifest.Dense)
	embed.Offset = s.plan.Dense
	s.plan.Dense += roundUp(embed.Size(), align)
	s.plan.Rows = []Region{embed}
	s.manifest.Rows = []Region{embed}
	return s
}

func place(t testing.TB, align int64, records []Record) int64 {
	var sizes []int64
	for _, r := range records {
		sizes = append(sizes, r.Length)
	}
	offsets, total, err := Place(align, sizes...)
	require.NoError(t, err)
	for i := range records {
		records[i].Offset = offsets[i]
	}
	return total
}

// steps are the calls that write everything, in no order that matters.
func (s source) steps(w *Writer) []func() error {
	var out []func() error
	for i, r := range s.manifest.Experts {
		out = append(out, func() error { return w.Expert(r, payload(r, s.experts[i])) })
	}
	for i, r := range s.manifest.Dense {
		out = append(out, func() error { return w.Dense(r, payload(r, s.dense[i])) })
	}
	for first := 0; first < 1100; first += 300 {
		data := s.rows[first*1000 : min(first+300, 1100)*1000]
		out = append(out, func() error { return w.Rows("embed", int64(first), int64(len(data)/1000), given(data)) })
	}
	out = append(out, func() error { return w.Companion("tokenizer.json", strings.NewReader(`{"model": {}}`)) })
	return append(out, func() error { return w.Companion("config.json", strings.NewReader(`{}`)) })
}

// payload writes data in two parts, as the payload of r.
func payload(r Record, data []byte) Payload {
	return func(w io.Writer) ([]float32, error) {
		half := len(data) / 2
		if _, err := w.Write(data[:half]); err != nil {
			return nil, err
		}
		_, err := w.Write(data[half:])
		return r.Factors, err
	}
}

func given(data []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return data, nil }
}

// create is Create with nothing out of the ordinary.
func create(t testing.TB, dir string, plan Plan) *Writer {
	w, err := Create(t.Context(), dir, plan, CreateOptions{})
	require.NoError(t, err)
	return w
}

// written makes the package in a new directory and opens it.
func written(t testing.TB) *Package {
	dir := filepath.Join(t.TempDir(), "pkg")
	s := newSource(t)
	w := create(t, dir, s.plan)
	for _, step := range s.steps(w) {
		require.NoError(t, step())
	}
	require.NoError(t, w.Finish(s.manifest))
	p, err := Open(dir)
	require.NoError(t, err)
	return p
}

// flip damages one byte of a file.
func flip(t testing.TB, path string, at int64) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[at] ^= 0x40
	require.NoError(t, os.WriteFile(path, data, 0o666))
}

func TestOpen(t *testing.T) {
	p := written(t)
	require.Equal(t, filepath.Join(p.Dir, "x"), p.Path("x"))
	s := newSource(t)
	data, err := os.ReadFile(p.Path(ExpertsName))
	require.NoError(t, err)
	require.Len(t, data, int(s.plan.Experts))
	for i, r := range p.Manifest.Experts {
		end := r.Offset + r.Length
		require.Equal(t, s.experts[i], data[r.Offset:end], "expert %d", i)
		require.Empty(t, bytes.Trim(data[end:r.Offset+r.Stride(p.Manifest.Align)], "\x00"), "padding of expert %d", i)
	}
	data, err = os.ReadFile(p.Path(DenseName))
	require.NoError(t, err)
	embed := p.Manifest.Rows[0]
	for i := range embed.Rows {
		at := embed.Offset + i*embed.RowStride
		require.Equal(t, s.rows[i*1000:(i+1)*1000], data[at:at+1000], "row %d", i)
		require.Zero(t, data[at+1000], "padding of row %d", i)
	}
	entries, err := os.ReadDir(p.Dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"config.json", "dense.bin", "experts.bin", "model.fb", "tokenizer.json"}, names)
}

func TestOpenErrors(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte(`{"model": {}}`), 0o666))
	for _, c := range []struct {
		name  string
		spoil func(p *Package) error
		want  string
	}{
		{"cut", func(p *Package) error { return os.Truncate(p.Path(ExpertsName), 4096) },
			"experts.bin: was cut: 4096 bytes on disk, 131072 in the manifest; copy the package again"},
		{"longer", func(p *Package) error { return os.Truncate(p.Path(DenseName), 1<<21) },
			"dense.bin: is too long: 2097152 bytes on disk, 1126400 in the manifest; copy the package again"},
		{"missing", func(p *Package) error { return os.Remove(p.Path("tokenizer.json")) },
			"tokenizer.json: is missing: copy the package again"},
		{"link out", func(p *Package) error { return relink(p.Path("tokenizer.json"), outside) },
			"tokenizer.json: is a link that leaves the package: copy the file in its place"},
		{"link up", func(p *Package) error { return relink(p.Path(DenseName), "../../outside") },
			"dense.bin: is a link that leaves the package: copy the file in its place"},
		{"manifest link out", func(p *Package) error { return relink(p.Path(ManifestName), outside) },
			"model.fb: is a link that leaves the package: copy the file in its place"},
		{"directory", func(p *Package) error { return redir(p.Path("config.json")) },
			"config.json: is not a regular file"},
		{"manifest is a directory", func(p *Package) error { return redir(p.Path(ManifestName)) },
			"model.fb: is not a regular file"},
		{"manifest empty", func(p *Package) error { return os.Truncate(p.Path(ManifestName), 0) },
			"model.fb: 0 bytes are too short for a manifest: the file is damaged; copy the package again"},
		{"manifest huge", func(p *Package) error { return os.Truncate(p.Path(ManifestName), 1<<40) },
			"model.fb: 1099511627776 bytes are more than a manifest may have, 268435456"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := written(t)
			require.NoError(t, c.spoil(p))
			_, err := Open(p.Dir)
			require.EqualError(t, err, "package "+p.Dir+": "+c.want)
			var typed *Error
			require.ErrorAs(t, err, &typed)
		})
	}
}

func relink(path, target string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Symlink(target, path)
}

func redir(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	return os.Mkdir(path, 0o777)
}

// A link from one file of the package to another stays inside.
func TestOpenLinkWithin(t *testing.T) {
	p := written(t)
	require.NoError(t, os.Rename(p.Path("config.json"), p.Path("blob")))
	require.NoError(t, os.Symlink("blob", p.Path("config.json")))
	_, err := Open(p.Dir)
	require.NoError(t, err)
	require.NoError(t, Verify(t.Context(), p, nil))
}

func TestOpenNotPackage(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(at("checkpoint"), 0o777))
	require.NoError(t, os.Mkdir(at("made.partial"), 0o777))
	require.NoError(t, os.Rename(written(t).Dir, at("whole.partial")))
	require.NoError(t, os.WriteFile(at("model.gguf"), nil, 0o666))
	for _, c := range []struct{ name, want string }{
		{"checkpoint", "%s has no model.fb; make a package with estream pack: not a package"},
		{"model.gguf", "%s is a file, and a package is a directory; make one with estream pack: not a package"},
		{"made.partial", "%s is an unfinished conversion; run the same estream pack again to finish it: not a package"},
		{"whole.partial", "%s is an unfinished conversion; run the same estream pack again to finish it: not a package"},
		{"made", "%s was never finished; run the same estream pack again, which goes on with %[1]s.partial: not a package"},
	} {
		_, err := Open(at(c.name))
		require.EqualError(t, err, fmt.Sprintf(c.want, at(c.name)))
		require.ErrorIs(t, err, ErrNotPackage)
	}
	_, err := Open(at("absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, at("absent"))
}
