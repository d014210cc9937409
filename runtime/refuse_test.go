package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager/layout"
	"estream/runtime"
)

// A refusal is a package that contradicts itself, and what Open says of it.
type refusal struct {
	name string
	edit func(*layout.Manifest)
	want string
}

// checkRefused opens the package with each edited manifest.
func checkRefused(t *testing.T, encoding string, tests []refusal) {
	dir := packed(t, tiny, encoding)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := runtime.Open(t.Context(), edited(t, dir, tt.edit), runtime.Options{})
			if err == nil {
				require.NoError(t, m.Close())
				t.Fatalf("opened, want %s", tt.want)
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// edited makes a package with another manifest over the same weight files.
func edited(t testing.TB, dir string, edit func(*layout.Manifest)) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, layout.ManifestName))
	require.NoError(t, err)
	m, err := layout.Decode(data)
	require.NoError(t, err)
	edit(m)
	data, err = layout.Encode(m)
	require.NoError(t, err)
	to := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(to, layout.ManifestName), data, 0o644))
	for _, f := range m.Files {
		require.NoError(t, os.Link(filepath.Join(dir, f.Name), filepath.Join(to, f.Name)))
	}
	return to
}

// text replaces a part of the module's text, once.
func text(old, new string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		before, after, ok := strings.Cut(m.Module, old)
		if !ok {
			panic("the module has no " + old)
		}
		m.Module = before + new + after
	}
}

// in replaces a part of one graph's text, once.
func in(graph, old, new string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		from, to := extent(m.Module, graph)
		part := layout.Manifest{Module: m.Module[from:to]}
		text(old, new)(&part)
		m.Module = m.Module[:from] + part.Module + m.Module[to:]
	}
}

// graph replaces the lines of a graph; without lines it removes the graph.
func graph(name string, lines ...string) func(*layout.Manifest) {
	return func(m *layout.Manifest) {
		from, to := extent(m.Module, name)
		body := ""
		if lines != nil {
			body = "graph " + name + "\n  " + strings.Join(lines, "\n  ") + "\n"
		}
		m.Module = m.Module[:from] + body + m.Module[to:]
	}
}

// extent is where the text of a graph stands.
func extent(module, graph string) (from, to int) {
	from = strings.Index(module, "graph "+graph+"\n")
	if from < 0 {
		panic("the module has no graph " + graph)
	}
	if next := strings.Index(module[from+1:], "graph "); next >= 0 {
		return from, from + 1 + next
	}
	return from, len(module)
}
