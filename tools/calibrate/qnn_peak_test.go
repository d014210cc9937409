package calibrate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// peakVariable tells TestPeakOnHost which package to run.
const peakVariable = "CALIBRATE_TEST_PEAK"

// TestPlanHoldsOnHost compares plans with the most that a process of its own has had in
// memory, where all experts run on the host beside a device.
func TestPlanHoldsOnHost(t *testing.T) {
	libs := os.Getenv("ESTREAM_QNN_LIBS")
	if _, err := os.Stat(filepath.Join(libs, "libQnnCpu.so")); libs == "" || err != nil {
		t.Skipf("ESTREAM_QNN_LIBS=%s names no folder with libQnnCpu.so: tools/qnn-libs installs it", libs)
	}
	if testing.Short() {
		t.Skip("takes ten seconds of a processor")
	}
	if runtime.PeakBytes() == 0 {
		t.Skip("the system does not tell the peak")
	}
	dir := packedFor(t, static.New(qnn.CPU(qnn.Options{}), passes.Tiers{}), "w8")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeakOnHost$", "-test.v")
	cmd.Env = append(os.Environ(), peakVariable+"="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "held", "%s", out)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "held") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// TestPeakOnHost is the process of TestPlanHoldsOnHost.
func TestPeakOnHost(t *testing.T) {
	dir := os.Getenv(peakVariable)
	if dir == "" {
		t.Skip("TestPlanHoldsOnHost says what to measure")
	}
	debug.SetGCPercent(25) // as the command does it: garbage is no part of a plan
	tiers := passes.Tiers{T: []int{64}, S: []int{64, 4096}, R: []int{16}}
	policy := static.Policy{Host: host.New(host.Options{}), Cost: passes.Cost{Launch: 1, HostRow: 1e-9}}
	m, err := runtime.Open(t.Context(), dir, runtime.Options{Device: static.New(qnn.CPU(qnn.Options{}), tiers).With(tiers, policy)})
	require.NoError(t, err)
	defer m.Close()
	debug.FreeOSMemory()
	for _, n := range []int{7, 300} {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i % 160)
		}
		b := runtime.Batch{Prompts: [][]int32{ids}}
		plan, err := m.Plan(b)
		require.NoError(t, err)
		res, err := m.Run(t.Context(), b)
		require.NoError(t, err)
		for _, w := range res.Stats.Work {
			require.Equal(t, w.Rows, w.HostRows)
		}
		peak := runtime.PeakBytes()
		require.LessOrEqual(t, peak, plan.Bytes(), "%d tokens: peak %.1f MiB, plan %s", n, float64(peak)/(1<<20), plan)
		t.Logf("held: %d tokens: peak %.1f of %.1f MiB planned", n, float64(peak)/(1<<20), float64(plan.Bytes())/(1<<20))
	}
}
