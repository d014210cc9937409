package qnn

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
)

var update = flag.Bool("update", false, "rewrite what the files of testdata want")

// TestLowering compares what the graphs of testdata become on each target.
func TestLowering(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		require.NoError(t, err)
		got := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
		for _, target := range []*target{cpu, htp} {
			got.Files = append(got.Files, txtar.File{Name: target.name, Data: []byte(describe(t, target, string(a.Files[0].Data)))})
		}
		if *update {
			require.NoError(t, os.WriteFile(file, txtar.Format(got), 0o666))
			continue
		}
		require.Equal(t, string(txtar.Format(a)), string(txtar.Format(got)), "%s (-update rewrites the file)", file)
	}
}

// describe returns what a graph becomes, as text, or why it does not.
func describe(t *testing.T, target *target, text string) string {
	t.Helper()
	low, err := target.lower(parse(t, text))
	if err != nil {
		return err.Error() + "\n"
	}
	require.NoError(t, low.desc.Check())
	return low.desc.String()
}

func parse(t *testing.T, text string) *ir.Graph {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	require.NoError(t, m.Verify())
	return m.Graphs[0]
}
