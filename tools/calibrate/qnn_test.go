package calibrate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/lower/qnn"
	"estream/lower/static"
	"estream/passes"
	"estream/runtime"
)

// TestExactOnQNN does what TestExact does on QNN's own libraries: several experts in
// one graph of theirs, second calls, and experts on the host.
func TestExactOnQNN(t *testing.T) {
	libs := os.Getenv("ESTREAM_QNN_LIBS")
	for _, c := range []struct {
		library, encoding string
		device            *qnn.Device
		r, g              []int
		tolerance         float64
	}{
		{"libQnnCpu.so", "f32", qnn.CPU(qnn.Options{Folder: libs}), []int{1, 3}, []int{1, 2, 4}, 1e-4},
		{"libQnnHtp.so", "w4", qnn.HTP(qnn.Options{Folder: libs, SoC: "v79"}), []int{3}, []int{1, 2}, 2e-2},
	} {
		t.Run(c.library, func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes ten seconds of a processor")
			}
			if _, err := os.Stat(filepath.Join(libs, c.library)); libs == "" || err != nil {
				t.Skipf("ESTREAM_QNN_LIBS=%s names no folder with %s: tools/qnn-libs installs it", libs, c.library)
			}
			require.NoError(t, c.device.Open())
			defer func() { require.NoError(t, c.device.Close()) }()
			tiers := passes.Tiers{T: []int{16}, S: []int{1}, R: []int{16}}
			b := static.New(c.device, tiers)
			dir, ids := packedFor(t, b, c.encoding), text(t, 16)
			want := logits(t, dir, runtime.Options{Device: b}, ids)
			tiers.R, tiers.G = c.r, c.g
			var sum passes.Work
			got := logits(t, dir, runtime.Options{Device: b.With(tiers, static.Policy{
				Host: host.New(host.Options{}), Cost: passes.Cost{Launch: 6, Body: 1, Row: 1, HostExpert: 1, HostRow: 3},
				Report: func(_ string, w passes.Work) { sum.Add(w) },
			})}, ids)
			off := worst(got, want)
			t.Logf("%.1e of the largest logit off; %+v", off, sum)
			require.Less(t, off, c.tolerance)
			require.True(t, sum.Overflow > 20 && sum.Launches < sum.Bodies && sum.HostRows > 0, "%+v", sum)
		})
	}
}
