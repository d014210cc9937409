package runtime_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/runtime"
	"estream/tools/pack"
)

// The checkpoints that tests pack: a tiny one of random weights with golden
// values, and a small trained one with a tokenizer.
const (
	tiny    = "../testdata/olmoe"
	trained = "../testdata/trained-small"
)

// packed packs a checkpoint and returns the package's folder.
func packed(t testing.TB, from, encoding string) string {
	t.Helper()
	e, err := pack.FindEncoding(encoding)
	if encoding == "exact" {
		e, err = pack.Encoding{Name: "exact"}, nil
	}
	require.NoError(t, err)
	return packedAs(t, from, e)
}

func packedAs(t testing.TB, from string, e pack.Encoding) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), e.Name)
	_, err := pack.Run(t.Context(), from, dir, pack.Options{
		Encoding: e, Backend: "host", Packing: host.New(host.Options{}).Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

// open opens a package until the test ends.
func open(t testing.TB, dir string, o runtime.Options) *runtime.Model {
	t.Helper()
	m, err := runtime.Open(t.Context(), dir, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// run runs a batch and returns its result.
func run(t testing.TB, m *runtime.Model, b runtime.Batch) *runtime.Result {
	t.Helper()
	res, err := m.Run(t.Context(), b)
	require.NoError(t, err)
	return res
}

// all logits of one prompt.
func logitsOf(t testing.TB, m *runtime.Model, prompt []int32) []float32 {
	t.Helper()
	return run(t, m, runtime.Batch{Prompts: [][]int32{prompt}, Logits: runtime.All}).Logits
}

// copyFile copies a file under another name.
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, data, 0o644))
}
