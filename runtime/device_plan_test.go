package runtime_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"
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
	run      func() // is called when a graph has run; nil: nothing is
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
	x, err := d.NPU.Compile(ctx, g, p)
	if err != nil || d.run == nil {
		return x, err
	}
	return toldRuns{x, d}, nil
}

// toldRuns tells a lazyNPU of runs.
type toldRuns struct {
	static.Executable
	device *lazyNPU
}

func (x toldRuns) Run(ctx context.Context, in, weights, out []lower.Buffer) error {
	defer x.device.run()
	return x.Executable.Run(ctx, in, weights, out)
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

// TestCancelReady: graphs that run to be planned for end when the run or the plan does.
func TestCancelReady(t *testing.T) {
	dir, tiers := packedForNPU(t), passes.Tiers{T: []int{4, 16}, S: []int{16, 64}, R: []int{2, 8}}
	b := runtime.Batch{Prompts: [][]int32{{1, 2, 3, 4, 5, 6, 7}}}
	why := errors.New("the user went away")
	for name, of := range map[string]func(*runtime.Model, context.Context) error{
		"run":  func(m *runtime.Model, ctx context.Context) error { _, err := m.Run(ctx, b); return err },
		"plan": func(m *runtime.Model, ctx context.Context) error { _, err := m.PlanContext(ctx, b); return err },
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		device := &lazyNPU{NPU: lowertest.NewNPU(), patience: time.Hour, run: func() { cancel(why) }}
		m := open(t, dir, runtime.Options{Device: static.New(device, tiers)})
		require.ErrorIs(t, of(m, ctx), why, name)
		require.Equal(t, 1, device.Runs(), "%s: graphs that ran", name)
		device.run = func() {}
		run(t, m, b)
	}
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

// TestComparedPlans: plans of one length on a device have one part of the program's and one of the device's, whatever the
// process takes meanwhile and the device has run.
func TestComparedPlans(t *testing.T) {
	if runtime.PeakBytes() == 0 {
		t.Skip("the system does not tell what is resident")
	}
	m := open(t, packedForNPU(t), runtime.Options{Device: static.New(&lazyNPU{NPU: lowertest.NewNPU()}, passes.Tiers{T: []int{4, 16}, S: []int{64}, R: []int{8}})})
	type parts struct{ program, device int64 }
	plan := func(tokens int) parts {
		p, err := m.PlanAs(t.Context(), tokens, runtime.Shape{}, 0)
		require.NoError(t, err)
		return parts{bytesOf(p, "program"), bytesOf(p, "device")}
	}
	const more = 32 << 20
	take := func() {
		pages, free, err := pager.Pages(more)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, free()) })
		for i := 0; i < len(pages); i += 4096 {
			pages[i] = 1
		}
	}
	debug.FreeOSMemory() // or what goes meanwhile may be more
	before := plan(7)
	require.Positive(t, before.device)
	take()
	require.Equal(t, before, plan(7))
	other := plan(3)
	require.Greater(t, other.program, before.program+more/2, "of another length")
	run(t, m, runtime.Batch{Prompts: [][]int32{{1, 2, 3}}})
	take()
	require.Equal(t, []parts{before, other}, []parts{plan(7), plan(3)}, "after a run")
	last := plan(5)
	require.Greater(t, last.program, before.program+3*more/2, "of a length that is new")
	require.Less(t, last.device, before.device, "whose graphs have run")
}
