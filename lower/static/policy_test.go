package static_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/lower/static"
	"estream/passes"
)

// grouped is expert with tiers of two bodies too.
func grouped() string {
	text := expert
	for _, r := range []string{"2", "4"} {
		text += strings.ReplaceAll(`
graph expert0@R#,G2 on dev
  %1:x.0 = input : f32[#,1]
  %2:w.0 = input : f32[#]
  %3:gain.0 = weight offset=64 : f32[1]
  %4:x.1 = input : f32[#,1]
  %5:w.1 = input : f32[#]
  %6:gain.1 = weight offset=64 : f32[1]
  %7 = mul %1 %3 : f32[#,1]
  %8 = scale_rows %7 %2 : f32[#,1]
  %9 = mul %4 %6 : f32[#,1]
  %10 = scale_rows %9 %5 : f32[#,1]
  return %8 %10
`, "#", r)
	}
	return text
}

// program compiles a module with a policy, and keeps what is reported.
func policyProgram(t *testing.T, d *recorder, module string, p static.Policy) (lower.Program, *[]passes.Work) {
	t.Helper()
	var works []passes.Work
	p.Report = func(graph string, w passes.Work) {
		require.Equal(t, "expert0", graph)
		works = append(works, w)
	}
	c, err := compileWith(t, d, module, p)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Zero(t, d.live, "memories and graphs that are left")
	})
	x, err := c.Program("expert0")
	require.NoError(t, err)
	return x, &works
}

func compileWith(t *testing.T, d static.Device, module string, p static.Policy) (lower.Compiled, error) {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(module, ops)
	require.NoError(t, err)
	return static.New(d, passes.Tiers{}).With(passes.Tiers{}, p).Compile(context.Background(), m, packing())
}

// TestGroupedExperts runs two experts in a launch.
func TestGroupedExperts(t *testing.T) {
	d := &recorder{}
	p, works := policyProgram(t, d, grouped(), static.Policy{Cost: passes.Cost{Launch: 100, Row: 1}})
	call := expertCall(record(64, 3), record(256, 0, 1, 2, 4, 5), record(512, 1))
	require.NoError(t, p.Run(context.Background(), call))
	require.Equal(t, `expert0@R4,G2
  x.0 [4 0 0 0]
  w.0 [0.3 0 0 0]
  x.1 [1 2 3 5]
  w.1 [0 0.1 0.2 0.4]
  gain.0 at 128, 4 bytes, factor 1
  gain.1 at 320, 4 bytes, factor 1
expert0@R2,G2
  x.0 [6 0]
  w.0 [0.5 0]
  x.1 [2 0]
  w.1 [0.1 0]
  gain.0 at 320, 4 bytes, factor 1
  gain.1 at 576, 4 bytes, factor 1
`, d.log.String())
	require.Equal(t, []float32{1101, 1204, 1103, 1104, 1105, 1106}, lower.F32(call.Out[0].Bytes()))
	require.Equal(t, []passes.Work{{Experts: 3, Rows: 7, Launches: 2, Bodies: 4, Computed: 12, Overflow: 1}}, *works)
}

// TestDrop leaves out the rows of the lowest weights, and says so.
func TestDrop(t *testing.T) {
	d := &recorder{}
	p, works := policyProgram(t, d, expert, static.Policy{Drop: true})
	many := record(0, 0, 1, 2, 3, 4, 5)
	many.W = []float32{0.3, 0.1, 0.3, 0.2, 0.2, 0.9}
	call := expertCall(many, record(256, 0))
	require.NoError(t, p.Run(context.Background(), call))
	require.Equal(t, "  w [0.3 0.3 0.2 0.9]", strings.Split(d.log.String(), "\n")[2], "of equal weights the earlier row is kept")
	require.Equal(t, []float32{1202, 1000, 1103, 1104, 1000, 1106}, lower.F32(call.Out[0].Bytes()))
	require.Equal(t, []passes.Work{{Experts: 2, Rows: 5, Launches: 2, Bodies: 2, Computed: 6, Dropped: 2}}, *works)
	require.Len(t, call.Group[0].Rows, 6, "the call's own")
}

// TestGroupFaults: an error of a launch of several experts blames none of them.
func TestGroupFaults(t *testing.T) {
	for rows, want := range map[string]string{
		"one":     "dev: graph expert0: expert 1 of 2: row 4: tier expert0@R4: row 1: not a number",
		"several": "dev: graph expert0: one of several experts: tier expert0@R2,G2: row 1: not a number",
	} {
		d := &recorder{fail: 1, err: &lower.RowError{Row: 1, Err: errors.New("not a number")}}
		p, _ := policyProgram(t, d, grouped(), static.Policy{Cost: passes.Cost{Launch: 100, Row: 1}})
		call := expertCall(record(0), record(0, 1, 4, 5))
		if rows == "several" {
			call = expertCall(record(0, 1, 5), record(0, 2))
		}
		require.EqualError(t, p.Run(context.Background(), call), want)
	}
}

// A besideHost compiles anything to programs of a working memory, which stays.
type besideHost struct{ lower.Backend }

func (besideHost) Compile(context.Context, *ir.Module, lower.Packing) (lower.Compiled, error) {
	return besideCompiled{}, nil
}

type besideCompiled struct{ lower.Compiled }

func (besideCompiled) Program(string) (lower.Program, error)       { return idle{}, nil }
func (besideCompiled) Footprint(string, lower.Dims) (int64, error) { return 1000, nil }
func (besideCompiled) Close() error                                { return nil }

// An idle program is never run.
type idle struct{ lower.Program }

// TestFootprintBesideHost: what the host takes for experts stays when a larger graph of
// the device runs, so it stands beside the memory of that.
func TestFootprintBesideHost(t *testing.T) {
	for _, policy := range []static.Policy{{}, {Host: besideHost{}}} {
		d := &recorder{}
		c, err := compileWith(t, d, body("f32", 0)+expert, policy)
		require.NoError(t, err)
		footprint := func(graph string) int64 {
			n, err := c.Footprint(graph, lower.Dims{"T": 100})
			require.NoError(t, err)
			return n
		}
		if policy.Host == nil {
			require.Less(t, footprint("expert0"), footprint("c0.body"))
		} else {
			require.Equal(t, footprint("c0.body")+1000, footprint("expert0"))
		}
		require.NoError(t, c.Close())
	}
}
