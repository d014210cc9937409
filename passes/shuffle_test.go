package passes

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"estream/ir"
)

// modules returns the modules of testdata that verify, by file and section.
func modules(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	ops, err := ir.Core()
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, f := range txtar.Parse(b).Files {
			if m, err := ir.Parse(string(f.Data), ops); err == nil && len(m.Graphs) > 0 && m.Verify() == nil {
				texts[file+"/"+f.Name] = string(f.Data)
			}
		}
	}
	require.NotEmpty(t, texts)
	return texts
}

// TestShuffle: the order in which independent values are written does not matter.
func TestShuffle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ps, err := Select(Pack(Policy{}, plain, nil), "canonicalize", "dce")
	require.NoError(t, err)
	for name, text := range modules(t) {
		want := parse(t, text)
		require.NoError(t, Run(want, ps, nil), name)
		for range 5 {
			got := parse(t, text)
			for _, g := range got.Graphs {
				shuffle(r, g)
			}
			shuffled := got.String()
			require.NoError(t, Run(got, ps, nil), shuffled)
			require.Equal(t, want.String(), got.String(), "%s, shuffled:\n%s", name, shuffled)
		}
	}
}

// shuffle puts g's values in a random order that Verify accepts, inputs as they
// stand, and gives them random numbers.
func shuffle(r *rand.Rand, g *ir.Graph) {
	readers := users(g)
	var out []*ir.Value
	done := set{}
	ready := func(v *ir.Value) bool {
		for _, a := range v.Args {
			if !done[a] {
				return false
			}
		}
		for _, u := range readers[v.Overwrites()] {
			if u != v && !done[u] {
				return false
			}
		}
		return true
	}
	left := slices.Clone(g.Values)
	for len(left) > 0 {
		i := r.IntN(len(left))
		if left[i].Op == ir.Input {
			i = slices.IndexFunc(left, func(v *ir.Value) bool { return v.Op == ir.Input })
		}
		if v := left[i]; ready(v) {
			out, done[v] = append(out, v), true
			left = slices.Delete(left, i, i+1)
		}
	}
	g.Values = out
	ids := r.Perm(3 * len(out))
	for i, v := range out {
		v.ID = ids[i] + 1
		if v.Body != nil {
			shuffle(r, v.Body)
		}
	}
}
