package page

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
	"estream/lower/host/kernel"
	"estream/models/all"
	"estream/pager/layout"
	"estream/passes"
	"estream/tools/pack"
)

var families = []string{"olmoe", "qwen3", "mixtral", "lfm2", "deepseek"}

// source is the package of a family's tiny model.
func source(t *testing.T, family, encoding string) Source {
	t.Helper()
	s, _ := packed(t, family, encoding)
	return s
}

// packed packs the tiny model of a family.
func packed(t *testing.T, family, encoding string) (s Source, dir string) {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	require.NoError(t, err)
	h := host.New(host.Options{Kernels: &kernel.Set{}})
	o := pack.Options{Encoding: e, Backend: h.Name(), Packing: h.Packings()[0], Families: all.Families(), Formats: all.Formats(), Workers: 1}
	dir = filepath.Join(t.TempDir(), "p")
	_, err = pack.Run(t.Context(), filepath.Join("../../testdata", family), dir, o)
	require.NoError(t, err)
	pkg, err := layout.Open(dir)
	require.NoError(t, err)
	s = Source{Name: family, Manifest: pkg.Manifest, Vocab: int(pkg.Manifest.Rows[0].Rows), Packing: o.Packing, Families: o.Families, Host: h, Backends: []Backend{{h, "the host"}}}
	s.Ops, err = ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(s.Manifest.Module, s.Ops)
	require.NoError(t, err)
	s.Census, err = pack.Count(m, s.Packing, s.Vocab, nil, false)
	require.NoError(t, err)
	return s, dir
}

// written is the page of s and the document in it.
func written(t *testing.T, s Source) (string, document) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, s))
	text := b.String()
	_, data, found := strings.Cut(text, `<script type="application/json" id="data">`)
	require.True(t, found)
	data, _, found = strings.Cut(data, "</script>")
	require.True(t, found)
	var d document
	require.NoError(t, json.Unmarshal([]byte(data), &d))
	return text, d
}

// requireText is Contains without a whole page in the message.
func requireText(t *testing.T, text, want string, msg ...any) {
	t.Helper()
	require.True(t, strings.Contains(text, want), "the page lacks %q %v", want, msg)
}

// The columns of every family and several encodings run from config.json to what
// the host runs, and each value of each but the first comes from one before.
func TestColumns(t *testing.T) {
	names := []string{"family"}
	for _, p := range append(passes.Pack(passes.Policy{}, host.New(host.Options{Kernels: &kernel.Set{}}).Packings()[0], nil), passes.Open(passes.Target{})...) {
		names = append(names, p.Name)
	}
	for _, family := range families {
		for _, encoding := range []string{"w4", "f32"} {
			t.Run(family+" "+encoding, func(t *testing.T) {
				s := source(t, family, encoding)
				text, d := written(t, s)
				require.False(t, strings.Contains(text, "cannot be shown"))
				var got []string
				for c, col := range d.Columns {
					got = append(got, col.Name)
					for _, g := range col.Graphs {
						for i, v := range g.Values {
							require.Equal(t, c > 0, v.From != nil, "column %s, graph %s, %%%d", col.Name, g.Name, v.ID)
							for _, a := range v.Args {
								require.Less(t, a, i, "column %s, graph %s, %%%d", col.Name, g.Name, v.ID)
							}
						}
					}
				}
				require.Equal(t, names, got)
				require.Equal(t, "layout", d.Columns[d.Stored].Name)
				again, _ := written(t, s)
				require.True(t, text == again, "two pages of one package differ")
				require.Less(t, len(text), 1<<19)
			})
		}
	}
}

// Nothing of a page is loaded. Its icon is none, so that browsers ask for none.
func TestNoNetwork(t *testing.T) {
	text, _ := written(t, source(t, "olmoe", "w4"))
	for _, loads := range []string{"src=", "@import", "url(http", "fetch(", "XMLHttpRequest", "import(", "sourceMappingURL"} {
		require.False(t, strings.Contains(text, loads), loads)
	}
	for _, part := range strings.Split(text, "href=")[1:] {
		require.Regexp(t, `^"(#|data:,")`, part[:min(20, len(part))])
	}
	requireText(t, text, "Permission is hereby granted", "the licence of dagre")
}

// A package from a stranger says what it likes, and it stays text.
func TestHostile(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)>'"&` + "\u2028"
	s := source(t, "olmoe", "w4")
	s.Name = evil
	s.Manifest.Provenance = append(s.Manifest.Provenance, layout.KeyValue{Key: evil, Value: evil})
	s.Manifest.Policy = append(s.Manifest.Policy, layout.KeyValue{Key: "attn.q.weight", Value: evil})
	s.Manifest.Config = append(s.Manifest.Config, evil...)
	text, d := written(t, s)
	require.False(t, strings.Contains(text, "<img"))
	require.Equal(t, 3, strings.Count(text, "</script>"), "the page's own: data, dagre, page.js")
	require.Contains(t, d.Policy["attn.q.weight"], evil)
}

// Where the module is not what config.json gives, the page says so and begins with it.
func TestForeignModule(t *testing.T) {
	s := source(t, "olmoe", "w4")
	for _, c := range []struct {
		name   string
		change func(*layout.Manifest)
		want   string
	}{
		{"config", func(m *layout.Manifest) {
			m.Config = bytes.Replace(m.Config, []byte(`"num_hidden_layers": 3`), []byte(`"num_hidden_layers": 2`), 1)
		}, "lowering config.json again gives other graphs"},
		{"no config", func(m *layout.Manifest) { m.Config = []byte("{") }, "config.json"},
		{"family", func(m *layout.Manifest) { m.Family = "abacus" }, "this program lacks the family abacus"},
		{"encoding", func(m *layout.Manifest) { m.Policy = []layout.KeyValue{{Key: "encoding", Value: "w9"}} }, "unknown encoding"},
		{"kind", func(m *layout.Manifest) { m.Policy = []layout.KeyValue{{Key: "encoding", Value: "w4,tail=w8"}} }, "unknown kind"},
	} {
		man := *s.Manifest
		c.change(&man)
		x := s
		x.Manifest = &man
		text, d := written(t, x)
		requireText(t, text, "The stages before the stored one cannot be shown: ", c.name)
		requireText(t, text, c.want, c.name)
		require.Equal(t, "stored", d.Columns[0].Name, c.name)
		require.Zero(t, d.Stored, c.name)
		require.Len(t, d.Columns, 1+len(passes.Open(passes.Target{})), c.name)
	}
}

func TestMalformedModule(t *testing.T) {
	s := source(t, "olmoe", "f32")
	first, _, _ := strings.Cut(s.Manifest.Module, "graph ")
	for _, c := range []struct{ module, want string }{
		{"graph", "page of olmoe: ir text, line 1: "},
		{"graph embed\n  return\n", `page of olmoe: record of 24576 bytes of class "expert0", layer 0, index 0: the module has none like it`},
		{strings.Replace(s.Manifest.Module, "weight offset=8192 ", "weight offset=8193 ", 1), "want a multiple of"},
		{first, `layer graph "c0" is not in the module`},
	} {
		man := *s.Manifest
		man.Module = c.module
		x := s
		x.Manifest = &man
		require.ErrorContains(t, Write(&bytes.Buffer{}, x), c.want, "module %.40q", c.module)
	}
}

// A record longer than its class's weights is refused, of the head too.
func TestRecordTooLong(t *testing.T) {
	s := source(t, "olmoe", "w8")
	for _, class := range []string{"c0", passes.HeadProj} {
		man := *s.Manifest
		man.Dense = slices.Clone(man.Dense)
		man.Dense[slices.IndexFunc(man.Dense, func(r layout.Record) bool { return r.Class == class })].Length += 1 << 20
		x := s
		x.Manifest = &man
		require.ErrorContains(t, Write(&bytes.Buffer{}, x), `of class "`+class+`"`)
	}
}

// Encodings of kinds are lowered again as they were packed.
func TestEncodings(t *testing.T) {
	var p passes.Policy
	require.NoError(t, named(&p, "w8,experts=w4g32,head=exact"))
	require.Equal(t, passes.Policy{Experts: ir.W4G32, Attention: ir.W8, Head: ir.Invalid, Embed: ir.W8}, p)
}
