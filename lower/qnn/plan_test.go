package qnn_test

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// planVariable tells TestPeak which device and package to measure.
const planVariable = "QNN_TEST_PLAN"

// TestPlanHolds compares plans with the most that a process of their own has had in
// memory, the libraries' included: prompts of several lengths, one after another.
func TestPlanHolds(t *testing.T) {
	for _, name := range []string{"cpu", "htp"} {
		t.Run(name, func(t *testing.T) {
			libraries(t, map[string]string{"cpu": "libQnnCpu.so", "htp": "libQnnHtp.so"}[name])
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeak$", "-test.v")
			cmd.Env = append(os.Environ(), planVariable+"="+name+","+packed(t, "olmoe", "w4"))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "held", "%s", out)
			for line := range strings.Lines(string(out)) {
				if strings.Contains(line, "held") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// TestPeak measures one device, for TestPlanHolds.
func TestPeak(t *testing.T) {
	name, dir, ok := strings.Cut(os.Getenv(planVariable), ",")
	if !ok {
		t.Skip("TestPlanHolds says what to measure")
	}
	debug.SetGCPercent(25) // as the command does it: garbage is no part of a plan
	o := qnn.Options{SoC: "v79", Child: child()}
	d := qnn.CPU(o)
	if name == "htp" {
		d = qnn.HTP(o)
	}
	tiers := passes.Tiers{T: []int{16, 64}, S: []int{64, 512}, R: []int{16}}
	m := opened(t, dir, runtime.Options{Device: static.New(d, tiers)})
	debug.FreeOSMemory()
	for _, n := range []int{7, 7, 100} {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i % 160)
		}
		b := runtime.Batch{Prompts: [][]int32{ids}}
		plan, err := m.Plan(b)
		require.NoError(t, err)
		_, err = m.Run(t.Context(), b)
		require.NoError(t, err)
		peak := runtime.PeakBytes()
		require.LessOrEqual(t, peak, plan.Bytes(), "%d tokens: peak %.1f MiB, plan %s", n, float64(peak)/(1<<20), plan)
		t.Logf("held: %d tokens: peak %.1f of %.1f MiB planned", n, float64(peak)/(1<<20), float64(plan.Bytes())/(1<<20))
	}
}
