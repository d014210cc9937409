package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower/host"
	"estream/models"
	"estream/models/all"
	"estream/passes"
)

var update = flag.Bool("update", false, "rewrite testdata")

func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	require.NoError(t, m.Verify())
	return m
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// golden compares got with a file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	require.Equal(t, read(t, path), got, "%s (-update rewrites the file)", path)
}

func written(t testing.TB, format string, m *ir.Module) string {
	t.Helper()
	f, err := Find(format)
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, f.Write(&first, Model{"a \"model\"", m}))
	require.NoError(t, f.Write(&second, Model{"a \"model\"", m}))
	require.Equal(t, first.String(), second.String(), "%s: written twice", format)
	return first.String()
}

// What the formats make of a small module is that of testdata.
func TestSmall(t *testing.T) {
	m := parse(t, read(t, "testdata/small.ir"))
	golden(t, "testdata/small.dot", written(t, "dot", m))
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, []byte(written(t, "json", m)), "", " "))
	golden(t, "testdata/small.json", indented.String())
	golden(t, "testdata/small.onnx.txt", onnxText(t, written(t, "onnx", m)))
}

// families are the modules of all families: as they are built, packed, and opened.
func families(t testing.TB) map[string]*ir.Module {
	t.Helper()
	out := map[string]*ir.Module{}
	for _, f := range all.Families() {
		config, err := os.ReadFile(filepath.Join("../../testdata", f.Name, "config.json"))
		require.NoError(t, err)
		c, err := models.ReadConfig(config)
		require.NoError(t, err)
		built, err := models.Build(f, c)
		require.NoError(t, err)
		out[f.Name] = built.Clone()
		h := host.New(host.Options{})
		policy := passes.Policy{Experts: ir.W4G32, Attention: ir.W8, Head: ir.W8, Embed: ir.W8}
		require.NoError(t, passes.Run(built, passes.Pack(policy, h.Packings()[0], nil), nil))
		out[f.Name+" packed"] = built.Clone()
		a8 := func(ir.DType) ir.DType { return ir.A8 }
		require.NoError(t, passes.Run(built, passes.Open(passes.Target{Host: h, Activation: a8}), nil))
		out[f.Name+" opened"] = built
	}
	return out
}

// eachValue calls f for the values of m, those of bodies too.
func eachValue(m *ir.Module, f func(g *ir.Graph, v *ir.Value)) {
	for _, g := range m.Graphs {
		for _, v := range g.Values {
			f(g, v)
			if v.Body != nil {
				for _, b := range v.Body.Values {
					f(v.Body, b)
				}
			}
		}
	}
}

func TestFamilies(t *testing.T) {
	for name, m := range families(t) {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, m.String(), fromJSON(t, written(t, "json", m)), "the module that JSON tells of")
			checkONNX(t, m, written(t, "onnx", m))
			checkDOT(t, m, written(t, "dot", m))
			checkFlow(t, m)
		})
	}
}

// checkDOT finds a node for each value, an edge for each operand, and no cluster or
// node twice.
func checkDOT(t *testing.T, m *ir.Module, text string) {
	nodes, edges := map[string]int{}, 0
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "subgraph "):
			nodes[line]++
		case strings.HasPrefix(line, `"cluster `) && strings.Contains(line, " -> ") && strings.HasSuffix(line, `";`):
			edges++
		case strings.HasPrefix(line, `"cluster `) && strings.Contains(line, " [label="):
			id, _, _ := strings.Cut(line, " [label=")
			if !strings.Contains(id, " -> ") {
				nodes[id]++
			}
		}
	}
	operands, want := 0, len(m.Graphs)
	for _, c := range classes(m) {
		if len(c.graphs) > 1 {
			want++
		}
	}
	eachValue(m, func(_ *ir.Graph, v *ir.Value) {
		operands += len(v.Args)
		want++
		if v.Body != nil {
			want++
		}
	})
	require.Len(t, nodes, want, "clusters and nodes")
	for id, n := range nodes {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, operands, edges)
	require.Equal(t, strings.Count(text, "{"), strings.Count(text, "}"))
}

// checkFlow: each layer takes what the one before it has made, the head takes the
// last, and the whole returns logits and states alone, and the head's norm where a
// quantized copy of it is multiplied.
func checkFlow(t *testing.T, m *ir.Module) {
	f := flowOf(m)
	x := "embed"
	for _, c := range f.calls {
		for i, v := range c.graph.Inputs() {
			if v.Name == "x" {
				if r := c.in[i].rows; r != nil {
					require.Equal(t, x, r.name, c.name)
				} else {
					require.Equal(t, x, c.in[i].name, c.name)
				}
			}
		}
		for i, v := range c.graph.Outputs {
			if v.Name == "y" && c.layer >= 0 {
				x = c.out[i].name
			}
		}
	}
	states := 0
	for _, p := range f.inputs {
		if p.typ.DType == ir.State {
			states++
		}
	}
	returned := slices.DeleteFunc(names(f.outputs), func(name string) bool { return name == "final.norm" })
	require.Len(t, returned, states+1)
	require.Equal(t, "logits", returned[states])
}

// A module without layers is drawn and called graph by graph.
func TestNoModel(t *testing.T) {
	m := parse(t, "graph one\n  %1:x = input : f32[T,4]\n  %2 = silu %1 : f32[T,4]\n  return %1 %2 %2\n\ngraph two\n  %1:x = input : f32[T,8]\n  %2:r = silu %1 : f32[T,8]\n  return %2\n")
	f := flowOf(m)
	require.Equal(t, []string{"x", "two.x"}, names(f.inputs))
	require.Equal(t, []string{"x.2", "%2", "%2.2", "r"}, names(f.outputs))
	checkONNX(t, m, written(t, "onnx", m))
	checkDOT(t, m, written(t, "dot", m))
}

// alike are modules whose names are those that an export makes of others.
func alike() map[string]string {
	const matrix = "  %1:x = input : f32[T,4]\n  %2:w = weight offset=0 : f32[4,4]\n  %3:y = matmul %1 %2 : f32[T,4]\n  return %3\n\n"
	return map[string]string{
		"a graph like a layer":        "layers b b\n\ngraph layer0\n" + matrix + "graph b\n" + matrix,
		"a value like a copy":         "graph a\n  %1:x = input : f32[4]\n  %2:out.0 = silu %1 : f32[4]\n  return %1 %2\n",
		"a body's value like a bound": "graph a\n  %1:x = input : f32[T,4]\n  %2:i = input : i32[T,2]\n  %3:w = input : f32[T,2]\n  %4:b = clamp %1 limit=1 : f32[T,4]\n  %5 = experts %4 %2 %3 callee= : f32[T,4]\n    graph b\n      %1:x = input : f32[R,4]\n      %2:min = silu %1 : f32[R,4]\n      return %2\n  return %5\n",
	}
}

func TestNamesAlike(t *testing.T) {
	for name, text := range alike() {
		t.Run(name, func(t *testing.T) { m := parse(t, text); checkONNX(t, m, written(t, "onnx", m)) })
	}
}

func TestFind(t *testing.T) {
	_, err := Find("png")
	require.EqualError(t, err, `unknown format "png": use one of dot, json, onnx`)
}

// Any module that verifies can be written.
func FuzzWrite(f *testing.F) {
	f.Add(read(f, "testdata/small.ir"))
	f.Add("graph a\n  %1:x = input : f32[4] from \x93\xdc\n  return %1\n")
	for _, text := range alike() {
		f.Add(text)
	}
	for _, m := range families(f) {
		f.Add(m.String())
	}
	ops, err := ir.Core()
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ir.Parse(text, ops)
		if err != nil || m.Verify() != nil {
			return
		}
		if back := fromJSON(t, written(t, "json", m)); utf8.ValidString(text) {
			require.Equal(t, m.String(), back)
		}
		checkONNX(t, m, written(t, "onnx", m))
		require.True(t, utf8.ValidString(written(t, "dot", m)))
	})
}

// fromJSON is the IR text of the module that an export tells of, which has no field
// that the schema lacks.
func fromJSON(t testing.TB, text string) string {
	t.Helper()
	var x jsonModel
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	d.UseNumber()
	require.NoError(t, d.Decode(&x))
	var b strings.Builder
	if len(x.Layers) > 0 {
		b.WriteString("layers " + strings.Join(x.Layers, " ") + "\n")
	}
	for i, g := range x.Graphs {
		if i > 0 || len(x.Layers) > 0 {
			b.WriteString("\n")
		}
		g.text(&b, "")
	}
	return parse(t, b.String()).String()
}
