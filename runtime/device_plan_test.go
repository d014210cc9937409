package runtime_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/lowertest"
	"estream/lower/static"
	"estream/models/all"
	"estream/models/checkpoint"
	"estream/pager"
	"estream/passes"
	"estream/runtime"
	"estream/tools/pack"
)

// A lazyNPU is the fake NPU with a library that takes memory late: for a graph when it
// first runs, and, where opening is set, so much while the first is made.
type lazyNPU struct {
	*lowertest.NPU
	patience time.Duration
	opening  int64
}

func (d *lazyNPU) Patience() time.Duration { return d.patience }

func (d *lazyNPU) Compile(ctx context.Context, g *ir.Graph, p lower.Packing) (static.Executable, error) {
	if d.opening > 0 {
		pages, free, err := pager.Pages(d.opening)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(pages); i += 4096 {
			pages[i] = 1
		}
		if err := free(); err != nil {
			return nil, err
		}
		d.opening = 0
	}
	return d.NPU.Compile(ctx, g, p)
}

func packedForNPU(t *testing.T) string {
	t.Helper()
	e, err := pack.FindEncoding("f32")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "npu")
	npu := static.New(lowertest.NewNPU(), passes.Tiers{})
	_, err = pack.Run(t.Context(), tiny, dir, pack.Options{
		Encoding: e, Backend: npu.Name(), Packing: npu.Packings()[0],
		Families: all.Families(), Formats: []checkpoint.Format{checkpoint.SafeTensors},
	})
	require.NoError(t, err)
	return dir
}

// bytesOf returns a part of a plan, 0: it has none of that name.
func bytesOf(p runtime.Plan, part string) int64 {
	if i := slices.IndexFunc(p.Parts, func(x runtime.Part) bool { return x.Name == part }); i >= 0 {
		return p.Parts[i].Bytes
	}
	return 0
}

// TestLazyDevice: a plan has what graphs that have not run may take, or they have run.
func TestLazyDevice(t *testing.T) {
	dir, tiers := packedForNPU(t), passes.Tiers{T: []int{4, 16}, S: []int{16, 64}, R: []int{2, 8}}
	b := runtime.Batch{Prompts: [][]int32{{1, 2, 3, 4, 5, 6, 7}}}
	planOf := func(m *runtime.Model) runtime.Plan {
		p, err := m.Plan(b)
		require.NoError(t, err)
		return p
	}
	patient := &lazyNPU{NPU: lowertest.NewNPU(), patience: time.Hour}
	require.Zero(t, bytesOf(planOf(open(t, dir, runtime.Options{Device: static.New(patient, tiers)})), "device"))
	require.Equal(t, 2+2+2, patient.Runs(), "tiers that 7 tokens may need: of the body and the tail, and of experts")

	hasty := &lazyNPU{NPU: lowertest.NewNPU()}
	m := open(t, dir, runtime.Options{Device: static.New(hasty, tiers)})
	before := bytesOf(planOf(m), "device")
	require.Greater(t, before, int64(6*2<<20))
	require.Zero(t, hasty.Runs())
	run(t, m, b)
	require.Less(t, bytesOf(planOf(m), "device"), before, "after a run")
}

// TestOpeningPeak: the most that the process has had while a device was opened is of
// the plan, and a budget that it exceeded is refused.
func TestOpeningPeak(t *testing.T) {
	dir, tiers := packedForNPU(t), passes.Tiers{T: []int{16}, S: []int{64}, R: []int{8}}
	b := runtime.Batch{Prompts: [][]int32{{1, 2, 3}}}
	more := func() *static.Backend {
		return static.New(&lazyNPU{NPU: lowertest.NewNPU(), opening: runtime.PeakBytes() + 16<<20}, tiers)
	}
	if runtime.PeakBytes() == 0 {
		t.Skip("the system does not tell the peak")
	}
	plan, err := open(t, dir, runtime.Options{Device: more()}).Plan(b)
	require.NoError(t, err)
	require.GreaterOrEqual(t, plan.Bytes(), runtime.PeakBytes())
	require.Greater(t, bytesOf(plan, "opening"), int64(8<<20))

	budget := runtime.PeakBytes()
	_, err = open(t, dir, runtime.Options{Device: more(), Memory: budget}).Plan(b)
	require.ErrorIs(t, err, runtime.ErrMemory)
	plan, err = open(t, dir, runtime.Options{Device: static.New(lowertest.NewNPU(), tiers), Memory: budget}).Plan(b)
	require.NoError(t, err)
	require.Zero(t, bytesOf(plan, "opening"), "a device that did not raise it")
}
