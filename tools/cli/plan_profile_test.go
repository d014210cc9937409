package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/passes"
	"estream/tools/cli"
)

// profiles lists the profiles that are kept in a folder of caches.
func profiles(t *testing.T, cache string) []string {
	t.Helper()
	var out []string
	for _, place := range []string{"estream", ".cache/estream", "Library/Caches/estream"} {
		found, err := filepath.Glob(filepath.Join(cache, place, "profile-*.json"))
		require.NoError(t, err)
		out = append(out, found...)
	}
	return out
}

// What never fits is refused before anything is measured, and with the time of the least that works where a profile is kept.
func TestPlanRefusesFirst(t *testing.T) {
	cache, dir := ownCache(t), packed(t, tiny, "w4")
	refused := func(want string, args ...string) {
		t.Helper()
		r := run(append(append([]string{"plan"}, args...), dir)...)
		require.Equal(t, 1, r.code, r.errors)
		require.Contains(t, r.errors, want, "%v", args)
	}
	const memory, limit = "memory budget too small: 1.0 MiB given, the least that is sure to work is ", "more than a session of the accelerator can map"
	refused("estream: 512 tokens: "+memory, "--memory", "1MiB")
	refused("before-routing; no profile is kept to predict its time by\n", "--memory", "1MiB")
	refused("estream: 1048576 tokens: "+memory[:len("memory budget too small: ")], "--tokens", "8,1048576", "--memory", "200MiB")
	refused(limit, "--session-limit", "1KiB")
	require.Empty(t, profiles(t, cache), "measured for nothing")

	ok(t, "plan", "--tokens", "8", dir)
	kept := profiles(t, cache)
	require.Len(t, kept, 1)
	before, err := os.Stat(kept[0])
	require.NoError(t, err)
	refused("before-routing; predicted to take ", "--memory", "1MiB")
	refused("before-routing; predicted to take ", "--memory", "1MiB", "--fresh")
	after, err := os.Stat(kept[0])
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "measured for nothing")
}

// A counted device counts the graphs that it compiles.
type counted struct {
	*lowertest.NPU
	compiled *int
}

func (d counted) Compile(ctx context.Context, g *ir.Graph, p lower.Packing) (static.Executable, error) {
	*d.compiled++
	return d.NPU.Compile(ctx, g, p)
}

// Fix makes graphs that do read the weights that runs are given.
func (d counted) Fix(ctx context.Context, gs []*ir.Graph, p lower.Packing, _ [][]lower.Buffer) (made []static.Executable, err error) {
	for _, g := range gs {
		x, err := d.NPU.Compile(ctx, g, p)
		if err != nil {
			return made, err
		}
		made = append(made, x)
	}
	return made, nil
}

// A device compiles a package's graphs once, whether a profile is kept or measured, and frees them; twice with a budget and weights inside.
func TestPlanCompilesOnce(t *testing.T) {
	ownCache(t)
	npu, compiled := lowertest.NewNPU(), 0
	a := cli.Default()
	a.Backends = []cli.Backend{{Name: "npu", New: func(lower.Backend) lower.Backend {
		return static.New(counted{npu, &compiled}, passes.Tiers{T: []int{64}, S: []int{128, 1024}, R: []int{16}})
	}}}
	dir := filepath.Join(t.TempDir(), "p")
	did := func(args ...string) (graphs int) {
		t.Helper()
		compiled = 0
		code, _, e := runApp(a, append(args, dir)...)
		require.Zero(t, code, "%v: %s", args, e)
		require.Zero(t, npu.Live(), "%v: device memory that nobody freed", args)
		return compiled
	}
	code, _, e := runApp(a, "pack", "--encoding", "f32", "--backend", "npu", tiny, dir)
	require.Zero(t, code, e)
	once := did("run", "--backend", "npu", "--plan", "off", "--tokens", "1,2,3")
	require.Positive(t, once)
	for _, what := range []string{"measured", "kept"} {
		before := npu.Runs()
		require.Equal(t, once, did("plan", "--backend", "npu", "--tokens", "8", "--memory", "1GiB"), what)
		require.Equal(t, what == "measured", npu.Runs() > before, what)
	}
	compiled = 0
	code, _, e = runApp(a, "plan", "--backend", "npu", "--fresh", "--memory", "1MiB", dir)
	require.Equal(t, 1, code)
	require.Contains(t, e, "memory budget too small: 1.0 MiB given, ")
	require.Equal(t, once, compiled)
	require.Zero(t, npu.Live(), "of a package that is refused")

	t.Setenv("ESTREAM_QNN_WEIGHTS", "inside")
	require.Equal(t, once, did("plan", "--backend", "npu", "--tokens", "8", "--fresh"), "without a budget")
	require.Equal(t, 2*once, did("plan", "--backend", "npu", "--tokens", "8", "--fresh", "--memory", "1GiB"))
}
