package passes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
)

// costOf is what single launches of the rows take with tiers, by Spread.
func costOf(seen []Seen, tiers []int, c Cost) float64 {
	sum := 0.0
	for _, s := range seen {
		w := WorkOf(Tiers{R: tiers}.Spread([]int{s.Rows}, c.OnDevice()))
		sum += float64(s.Times) * c.Of(w)
	}
	return sum
}

// subsets returns all of up to n of the multiples of step up to most, rounded up.
func subsets(n, step, most int) [][]int {
	out := [][]int{}
	var add func(from int, with []int)
	add = func(from int, with []int) {
		if len(with) > 0 {
			out = append(out, slices.Clone(with))
		}
		for i := from; len(with) < n && (i-1)*step < most; i++ {
			add(i+1, append(with, i*step))
		}
	}
	add(1, nil)
	return out
}

// TestChooseRows compares with every choice that there is.
func TestChooseRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		n, step, most := 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(14)
		c := Cost{Launch: float64(r.IntN(30)), Body: float64(r.IntN(3)), Row: float64(r.IntN(4))}
		var seen []Seen
		for range 1 + r.IntN(6) {
			seen = append(seen, Seen{r.IntN(most + 1), r.IntN(9)})
		}
		got := ChooseRows(seen, n, c, step)
		what := fmt.Sprintf("case %d: %d tiers of a multiple of %d, cost %+v, rows %v: got %v", i, n, step, c, seen, got)
		require.True(t, slices.IsSorted(got) && len(got) > 0 && len(got) <= n && got[0] > 0, what)
		for _, s := range got {
			require.Zero(t, s%step, what)
		}
		best, with := math.Inf(1), []int(nil)
		for _, tiers := range subsets(n, step, most) {
			if cost := costOf(seen, tiers, c); cost < best {
				best, with = cost, tiers
			}
		}
		require.InDelta(t, best, costOf(seen, got, c), 1e-9*(1+best), "%s, want %v", what, with)
	}
}

func TestChooseRowsOfNothing(t *testing.T) {
	c := Cost{Launch: 1, Row: 1}
	require.Equal(t, []int{4}, ChooseRows(nil, 3, c, 4))
	require.Equal(t, []int{7}, ChooseRows([]Seen{{7, 1}, {9, 0}, {0, 5}}, 3, c, 1))
}

// everyWay returns the least cost of running pieces from i on.
func everyWay(t Tiers, pieces []Piece, rows []int, c Cost) float64 {
	if len(pieces) == 0 {
		return 0
	}
	best := math.Inf(1)
	for _, g := range t.G {
		for n := 1; n <= min(g, len(pieces)); n++ {
			for _, r := range t.R {
				if slices.ContainsFunc(pieces[:n], func(p Piece) bool { return p.To-p.From > r }) {
					continue
				}
				best = min(best, c.Launch+float64(g)*(c.Body+float64(r)*c.Row)+everyWay(t, pieces[n:], rows, c))
			}
		}
	}
	if e := pieces[0].Expert; pieces[0].From == 0 && c.HostRow > 0 {
		n := slices.IndexFunc(append(pieces, Piece{Expert: -1}), func(p Piece) bool { return p.Expert != e })
		best = min(best, c.HostExpert+c.HostRow*float64(rows[e])+everyWay(t, pieces[n:], rows, c))
	}
	return best
}

// TestSpread compares with every way that there is, and looks for every row once
// and in order.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		tiers := [][]int{{4}, {2, 6}, {1, 3, 8}}[r.IntN(3)]
		x := Tiers{R: tiers, G: [][]int{{1}, {1, 2}, {3, 1}, {4}}[r.IntN(4)]}
		c := Cost{Launch: float64(r.IntN(20)), Body: float64(r.IntN(5)), Row: 1 + r.Float64(), HostExpert: float64(r.IntN(4)), HostRow: float64(r.IntN(5))}
		if c.HostRow == 0 {
			c = c.OnDevice()
		}
		rows := make([]int, r.IntN(6))
		for e := range rows {
			rows[e] = r.IntN(10)
		}
		got := x.Spread(rows, c)
		what := fmt.Sprintf("case %d: rows %v, tiers %+v, cost %+v: %+v", i, rows, x, c, got)
		next, e := 0, 0
		for _, l := range got {
			require.NotEmpty(t, l.Pieces, what)
			require.True(t, l.G == 0 || slices.Contains(x.G, l.G) && slices.Contains(x.R, l.R) && len(l.Pieces) <= l.G, what)
			for _, p := range l.Pieces {
				for ; rows[e] == next; e, next = e+1, 0 {
				}
				require.Equal(t, []int{e, next}, []int{p.Expert, p.From}, what)
				require.True(t, p.To > p.From && p.To <= rows[e] && (l.G == 0 || p.To-p.From <= l.R), what)
				next = p.To
			}
		}
		for ; e < len(rows); e, next = e+1, 0 {
			require.Equal(t, rows[e], next, what)
		}
		s := spreader{sizes: tiers}
		for e, n := range rows {
			s.cut(e, n)
		}
		require.InDelta(t, everyWay(x, s.pieces, rows, c), c.Of(WorkOf(got)), 1e-9, what)
	}
}

func TestWork(t *testing.T) {
	x := Tiers{R: []int{2, 4}, G: []int{1, 2}}
	got := WorkOf(x.Spread([]int{0, 9, 1, 3}, Cost{Launch: 10, Body: 1, Row: 1}))
	require.Equal(t, Work{Experts: 3, Rows: 13, Launches: 3, Bodies: 5, Computed: 16, Overflow: 2}, got)
	require.InDelta(t, 3.0/16, got.Padding(), 1e-12)
	host := WorkOf(x.Spread([]int{0, 9, 1, 3}, Cost{Launch: 1000, HostRow: 1}))
	require.Equal(t, Work{Experts: 3, Rows: 13, HostExperts: 3, HostRows: 13}, host)
	require.Zero(t, host.Padding())
	require.Equal(t, host, WorkOf(Tiers{}.Spread([]int{9, 1, 3}, Cost{})), "without tiers")
}

// TestBodies binds an expert to groups: each body is whole, and alone.
func TestBodies(t *testing.T) {
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(`
graph expert0 on npu
  %1:x = input : f32[T,8]
  %2:rows = input : i32[R]
  %3:w = input : f32[R]
  %4:y = input : f32[T,8]
  %5:down = weight offset=64 : w8[8,8]
  %6 = gather_rows %1 %2 : f32[R,8]
  %7 = matmul %6 %5 : f32[R,8]
  %8 = scale_rows %7 %3 : f32[R,8]
  %9 = scatter_add %4 %8 %2 inplace=0 : f32[T,8]
  return %9

graph expert0@static on npu
  %1:x = input : f32[R,8]
  %2:w = input : f32[R]
  %3:down = weight offset=64 : w8[8,8]
  %4 = matmul %1 %3 : f32[R,8]
  %5 = scale_rows %4 %2 : f32[R,8]
  return %5
`, ops)
	require.NoError(t, err)
	expert := m.Graphs[0]
	require.NoError(t, Tiers{R: []int{4}, G: []int{1, 2}}.bindDims(m))
	require.NoError(t, m.Verify())
	require.Equal(t, "expert0@R4", m.Graphs[1].Name)
	require.Equal(t, `graph expert0@R4,G2 on npu
  %1:x.0 = input : f32[4,8]
  %2:w.0 = input : f32[4]
  %3:down.0 = weight offset=64 : w8[8,8]
  %4:x.1 = input : f32[4,8]
  %5:w.1 = input : f32[4]
  %6:down.1 = weight offset=64 : w8[8,8]
  %7 = matmul %1 %3 : f32[4,8]
  %8 = scale_rows %7 %2 : f32[4,8]
  %9 = matmul %4 %6 : f32[4,8]
  %10 = scale_rows %9 %5 : f32[4,8]
  return %8 %10
`, m.Graphs[2].String())
	for name, want := range map[string]string{"x.0": "x 0 true", "a.b.12": "a.b 12 true", "x": " 0 false", "x.y": "x 0 false", "x.-1": "x -1 false"} {
		got, i, ok := CutBodyName(name)
		require.Equal(t, want, fmt.Sprint(got, " ", i, " ", ok), name)
	}
	for _, g := range [][]int{{0, 1}, {-1}, {2}} {
		waits := &ir.Graph{Name: "expert0@static", Values: []*ir.Value{{ID: 1, Name: "x", Op: ir.Input, Type: ir.Tensor(ir.F32, ir.R)}}}
		err := Tiers{R: []int{4}, G: g}.bindDims(&ir.Module{Graphs: []*ir.Graph{expert, waits}})
		require.ErrorContains(t, err, "tiers of G are", "%v", g)
	}
}
