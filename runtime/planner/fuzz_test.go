package planner_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/runtime"
	"estream/runtime/planner"
)

// FuzzLoad: whatever a file says, it is none, or a profile by which a plan is picked.
func FuzzLoad(f *testing.F) {
	f.Setenv("XDG_CACHE_HOME", f.TempDir())
	m := open(f, packed(f), runtime.Options{Memory: 1 << 30})
	of, ctx := planner.Describe(m), context.Background()
	as := func(s runtime.Shape) (runtime.Plan, error) { return m.PlanAs(ctx, 64, s, 0) }
	f.Add([]byte(`{"Disk":{"Rate":1e9,"Check":1e9,"Peak":0,"Latency":100,"Burst":5},"Drag":0.1,"Embed":{"call":1e-6,"row":1e-6,"more":0},"Classes":{"c0":{"body":{"call":1e-5,"row":1e-6,"more":1e-9}}}}`), uint8(0))
	f.Add([]byte(`{"Disk":{"Rate":1,"Check":1,"Peak":1,"Latency":99999999999999,"Burst":99999999999999},"Drag":99999,"Embed":{"call":99999,"row":99999,"more":99999},"Classes":{"c0":{"body":{"call":99999,"row":99999,"more":99999},"group":{"call":99999,"row":99999,"more":99999}}}}`), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, schedule uint8) {
		x := new(planner.Profile)
		if json.Unmarshal(text, x) != nil {
			return
		}
		x.Key = "k"
		if _, err := x.Save(); err != nil {
			return
		}
		p := planner.Planner{Profile: planner.Load("k"), Package: of, Schedule: pager.Schedule(schedule % 5)}
		if p.Profile == nil {
			return
		}
		best, err := p.Pick(as)
		if err != nil {
			return // it is of another package
		}
		require.Positive(t, min(best.First.Time, best.Next.Time), "%s: %+v", text, best)
	})
}
