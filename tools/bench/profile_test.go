package bench

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/lower/host"
	"estream/runtime"
)

// A profile has all instructions of a run, whose work follows from the model.
func TestProfile(t *testing.T) {
	o := tiny(t)
	o.Profile, o.Peaks = true, Peaks{Int8: 100, F32: 50}
	r := results(t, o)[0]
	p := r.Profile
	require.Equal(t, []int{2, 2}, []int{p.Runs, p.Threads})
	require.LessOrEqual(t, p.InstructionsNS+p.WaitNS, p.RunNS)
	require.Equal(t, p.RunNS, p.InstructionsNS+p.WaitNS+p.OtherNS)
	products, ns := map[string]int64{}, int64(0)
	for _, row := range p.Instructions {
		products[row.Phase+" "+row.Op] = row.MultiplyAdds
		ns += row.NS
		require.Positive(t, row.Calls, "%+v", row)
		require.True(t, 0 <= row.IdleShare && row.IdleShare < 1, "%+v", row)
		require.Equal(t, row.MultiplyAdds > 0, row.PeakShare != nil && row.GOPS > 0 && row.Kind != "", "%+v", row)
	}
	require.Equal(t, p.InstructionsNS, ns)
	const n, layers, k = 20, 3, 3
	for name, want := range map[string]int64{
		"body matmul": layers * n * 4 * 64 * 64, "route matmul": layers * n * 8 * 64,
		"experts gate_up": layers * n * k * 2 * 32 * 64, "experts down": layers * n * k * 32 * 64,
		"body attention": layers * n * (n + 1) / 2 * 64 * 2, "head.proj matmul": 160 * 64, "body rope": 0,
	} {
		require.Equal(t, want, products[name], name)
	}
	int8 := float64(layers*n*(4*64*64+k*3*32*64) + 160*64)
	require.InEpsilon(t, 2*int8/float64(r.AvgNS)/200, *r.Int8Share, 1e-6)
	bf16 := float64(products["body attention"])
	require.InEpsilon(t, 2*bf16/float64(r.AvgNS)/100, *r.BF16Share, 1e-6, "bf16 has no peak of its own")
}

func TestPhases(t *testing.T) {
	for graph, want := range map[string]string{"c0.body": "body", "c12.route": "route", "expert0": "experts", "embed": "embed", "head.norm": "head.norm", "head.proj": "head.proj"} {
		require.Equal(t, want, phaseOf(graph), graph)
	}
}

// The table of a made-up profile, as it stands.
func TestPrintProfile(t *testing.T) {
	c := newCollector()
	at := time.Now()
	event := func(graph, op string, ms int, w host.Work) {
		c.op(host.Event{Graph: graph, Op: op, Work: w, Idle: time.Duration(ms) * time.Millisecond / 2, Start: at, End: at.Add(time.Duration(ms) * time.Millisecond)})
	}
	for range 2 {
		event("expert0", "gate_up", 30, host.Work{Int8: 3e9, Bytes: 5e6})
		event("expert0", "gate_up", 30, host.Work{Int8: 3e9, Bytes: 5e6})
		event("c0.body", "attention", 10, host.Work{BF16: 1e8, Bytes: 1e6})
		event("c0.route", "matmul", 5, host.Work{F32: 1e7, Bytes: 1e5})
		event("c0.tail", "add", 5, host.Work{Bytes: 3e6})
		c.ran(runtime.Stats{Total: 100 * time.Millisecond})
	}
	c.wait = int64(20 * time.Millisecond)
	var out bytes.Buffer
	require.NoError(t, c.profile(2, Peaks{Int8: 200, BF16: 100}).Print(&out, "tiny pp5"))
	require.Equal(t, strings.TrimPrefix(`
tiny pp5, 2 threads: a run of 100.00 ms, average of 2
phase      instruction       calls        ms    share  G mul-add  kind     GOPS  of peak  MB moved     idle
experts    gate_up               2     60.00   60.0 %      6.000  int8    200.0   50.0 %      10.0   25.0 %
body       attention             1     10.00   10.0 %      0.100  bf16     20.0   10.0 %       1.0   25.0 %
route      matmul                1      5.00    5.0 %      0.010   f32      4.0        -       0.1   25.0 %
tail       add                   1      5.00    5.0 %          -     -        -        -       3.0   25.0 %
           instructions                80.00   80.0 %                                                25.0 %
           waits for reads             10.00   10.0 %
           other                       10.00   10.0 %
`, "\n"), out.String())
}
