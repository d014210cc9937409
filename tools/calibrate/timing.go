package calibrate

import (
	"math"

	"estream/passes"
	"estream/runtime"
)

// A Timing measures a Cost: of experts on the host by a Counter, and of launches
// by what a static device reports.
type Timing struct {
	calls, launches observed
	groups          []runtime.Event // on the host, of the layer under way
	pending         *passes.Work
}

// observed are causes, and the seconds that they took together.
type observed struct {
	x [][]float64
	y []float64
}

func (o *observed) add(seconds float64, x ...float64) {
	o.x, o.y = append(o.x, x), append(o.y, seconds)
}

// TimeHost makes c measure what experts take on the host, for t.
func (c *Counter) TimeHost(t *Timing) { c.timing = t }

func (t *Timing) host(e runtime.Event) {
	if e.Kind == runtime.ProgramRan && e.Count > 0 {
		t.groups = append(t.groups, e)
	}
}

// routed takes the rows of each expert of the layer under way.
func (t *Timing) routed(rows []int) {
	for _, e := range t.groups {
		experts := 0
		for _, n := range rows[e.First : e.First+e.Count] {
			if n > 0 {
				experts++
			}
		}
		t.calls.add(e.End.Sub(e.Start).Seconds(), float64(experts), float64(e.Rows))
	}
	t.groups = nil
}

// Report is for static.Policy.Report, Event for runtime.Options.Events.
func (t *Timing) Report(_ string, w passes.Work) { t.pending = &w }

// Event takes what runtime.Options.Events is told.
func (t *Timing) Event(e runtime.Event) {
	if w := t.pending; w != nil && e.Kind == runtime.ProgramRan {
		t.launches.add(e.End.Sub(e.Start).Seconds(), float64(w.Launches), float64(w.Bodies), float64(w.Computed))
		t.pending = nil
	}
}

// Cost returns what was measured; ok is false where either is missing.
func (t *Timing) Cost() (c passes.Cost, ok bool) {
	if len(t.calls.y) == 0 || len(t.launches.y) == 0 {
		return c, false
	}
	h, d := t.calls.fit(), t.launches.fit()
	return passes.Cost{Launch: d[0], Body: d[1], Row: d[2], HostExpert: h[0], HostRow: h[1]}, true
}

// fit returns what each cause takes by least squares, none less than nothing: the
// best of the solutions with some causes left out that has no negative.
func (o observed) fit() []float64 {
	n := len(o.x[0])
	best, least := make([]float64, n), math.Inf(1)
	for set := 1; set < 1<<n; set++ {
		b, ok := o.solve(set)
		if !ok {
			continue
		}
		if off := o.off(b); off < least {
			best, least = b, off
		}
	}
	return best
}

func (o observed) off(b []float64) float64 {
	sum := 0.0
	for i, x := range o.x {
		d := o.y[i]
		for j := range b {
			d -= b[j] * x[j]
		}
		sum += d * d
	}
	return sum
}

// solve solves the normal equations of the causes in a set; ok is false where they
// do not tell, or one is negative.
func (o observed) solve(set int) (b []float64, ok bool) {
	var in []int
	for j := range o.x[0] {
		if set>>j&1 == 1 {
			in = append(in, j)
		}
	}
	rows := make([][]float64, len(in))
	for i, p := range in {
		rows[i] = make([]float64, len(in)+1)
		for k, x := range o.x {
			for j, q := range in {
				rows[i][j] += x[p] * x[q]
			}
			rows[i][len(in)] += x[p] * o.y[k]
		}
	}
	if !eliminate(rows) {
		return nil, false
	}
	b = make([]float64, len(o.x[0]))
	for i, p := range in {
		if b[p] = rows[i][len(in)]; b[p] < 0 {
			return nil, false
		}
	}
	return b, true
}

// eliminate solves equations, their right sides last, that are symmetric.
func eliminate(rows [][]float64) bool {
	const singular = 1e-9 // of a diagonal element, what is left of it
	for i := range rows {
		was := rows[i][i]
		for j := range i {
			f := rows[i][j]
			for k := range rows[i] {
				rows[i][k] -= f * rows[j][k]
			}
		}
		if rows[i][i] <= singular*was {
			return false
		}
		f := rows[i][i]
		for k := range rows[i] {
			rows[i][k] /= f
		}
	}
	for i := len(rows) - 1; i >= 0; i-- {
		for j := range i {
			f := rows[j][i]
			for k := range rows[j] {
				rows[j][k] -= f * rows[i][k]
			}
		}
	}
	return true
}
