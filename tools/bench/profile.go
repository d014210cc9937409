package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"estream/lower/host"
	"estream/runtime"
)

// A Profile says where the time of a test's runs went. Numbers are averages of a run.
type Profile struct {
	Runs           int     `json:"runs"`
	RunNS          int64   `json:"run_ns"`
	Instructions   []Row   `json:"instructions"` // the longest first
	InstructionsNS int64   `json:"instructions_ns"`
	WaitNS         int64   `json:"wait_ns"`    // for reads
	OtherNS        int64   `json:"other_ns"`   // routing, copies of rows, calls
	IdleShare      float64 `json:"idle_share"` // of the threads' time in instructions
	Threads        int     `json:"threads"`
}

// A Row is what the instructions of one op in one phase of the layers, or in another
// graph, took.
type Row struct {
	Phase        string   `json:"phase"`
	Op           string   `json:"op"`
	Calls        int      `json:"calls"`
	NS           int64    `json:"ns"`
	Share        float64  `json:"share"` // of the run
	MultiplyAdds int64    `json:"multiply_adds"`
	Kind         string   `json:"kind"` // what is multiplied: int8, bf16 or f32; empty: nothing
	GOPS         float64  `json:"gops"`
	PeakShare    *float64 `json:"peak_share"` // of the threads' peak for the kind; null: not known
	Bytes        int64    `json:"bytes"`      // read and written
	IdleShare    float64  `json:"idle_share"` // of the threads' time
}

// A collector sums up the instructions of runs.
type collector struct {
	runs        int
	total, wait int64
	costs       map[place]*cost
}

type place struct{ phase, op string }

type cost struct {
	calls    int
	ns, idle int64
	work     host.Work
}

func newCollector() *collector { return &collector{costs: map[place]*cost{}} }

// op takes an event of host.Options.Trace.
func (c *collector) op(e host.Event) {
	c.cost(place{phaseOf(e.Graph), e.Op}).add(cost{1, int64(e.End.Sub(e.Start)), int64(e.Idle), e.Work})
}

// add adds the runs of another.
func (c *collector) add(o *collector) {
	c.runs, c.total, c.wait = c.runs+o.runs, c.total+o.total, c.wait+o.wait
	for at, x := range o.costs {
		c.cost(at).add(*x)
	}
}

func (c *collector) cost(at place) *cost {
	x := c.costs[at]
	if x == nil {
		x = &cost{}
		c.costs[at] = x
	}
	return x
}

func (x *cost) add(o cost) {
	x.calls += o.calls
	x.ns += o.ns
	x.idle += o.idle
	x.work.Int8 += o.work.Int8
	x.work.BF16 += o.work.BF16
	x.work.F32 += o.work.F32
	x.work.Bytes += o.work.Bytes
}

// phaseOf is the phase that a graph is of its layer class; of other graphs the name.
func phaseOf(graph string) string {
	class, phase, ok := strings.Cut(graph, ".")
	switch {
	case ok && class != "head":
		return phase
	case strings.HasPrefix(graph, "expert"):
		return "experts"
	}
	return graph
}

// ran takes what else is known of a run.
func (c *collector) ran(s runtime.Stats) {
	c.runs++
	c.total += s.Total.Nanoseconds()
	c.wait += s.Wait.Nanoseconds()
}

// work is what all instructions did.
func (c *collector) work() host.Work {
	var w host.Work
	for _, x := range c.costs {
		w.Int8 += x.work.Int8
		w.BF16 += x.work.BF16
		w.F32 += x.work.F32
		w.Bytes += x.work.Bytes
	}
	return w
}

// profile is the profile of the runs so far, of which there is one at least.
func (c *collector) profile(threads int, peaks Peaks) *Profile {
	n := int64(c.runs)
	p := &Profile{Runs: c.runs, Threads: threads, RunNS: c.total / n, WaitNS: c.wait / n}
	idle := int64(0)
	for at, x := range c.costs {
		r := Row{Phase: at.phase, Op: at.op, Calls: x.calls / c.runs, NS: x.ns / n, Share: float64(x.ns) / float64(c.total), MultiplyAdds: x.work.Products() / n, Bytes: x.work.Bytes / n}
		r.IdleShare = float64(x.idle) / float64(max(1, x.ns)*int64(threads))
		if m := x.work.Products(); m > 0 {
			r.GOPS = 2 * float64(m) / float64(max(1, x.ns))
			var peak float64
			r.Kind, peak = kindOf(x.work, peaks)
			r.PeakShare = share(float64(m), float64(x.ns), peak, threads)
		}
		p.Instructions = append(p.Instructions, r)
		p.InstructionsNS += r.NS
		idle += x.idle / n
	}
	slices.SortFunc(p.Instructions, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Op, b.Op))
	})
	p.OtherNS = max(0, p.RunNS-p.InstructionsNS-p.WaitNS)
	p.IdleShare = float64(idle) / float64(max(1, p.InstructionsNS)*int64(threads))
	return p
}

// kindOf is what an instruction multiplies most of, and the peak for it.
func kindOf(w host.Work, p Peaks) (string, float64) {
	switch max(w.Int8, w.BF16, w.F32) {
	case w.Int8:
		return "int8", p.Int8
	case w.BF16:
		return "bf16", cmp.Or(p.BF16, p.F32)
	}
	return "f32", p.F32
}

// Print writes the profile as a table under a title.
func (p *Profile) Print(out io.Writer, title string) error {
	var b strings.Builder
	line := func(phase, op, calls string, ns int64, share float64, products, kind, gops, peak, moved, idle string) {
		row(&b, phase, op, calls, fmt.Sprintf("%.2f", float64(ns)/1e6), percent(share), products, kind, gops, peak, moved, idle)
	}
	fmt.Fprintf(&b, "%s, %d threads: a run of %.2f ms, average of %d\n", title, p.Threads, float64(p.RunNS)/1e6, p.Runs)
	row(&b, "phase", "instruction", "calls", "ms", "share", "G mul-add", "kind", "GOPS", "of peak", "MB moved", "idle")
	for _, r := range p.Instructions {
		products, kind, gops, peak := "-", "-", "-", "-"
		if r.MultiplyAdds > 0 {
			products, kind, gops, peak = fmt.Sprintf("%.3f", float64(r.MultiplyAdds)/1e9), r.Kind, fmt.Sprintf("%.1f", r.GOPS), share100(r.PeakShare)
		}
		line(r.Phase, r.Op, fmt.Sprint(r.Calls), r.NS, r.Share, products, kind, gops, peak, fmt.Sprintf("%.1f", float64(r.Bytes)/1e6), percent(r.IdleShare))
	}
	run := float64(max(1, p.RunNS))
	line("", "instructions", "", p.InstructionsNS, float64(p.InstructionsNS)/run, "", "", "", "", "", percent(p.IdleShare))
	line("", "waits for reads", "", p.WaitNS, float64(p.WaitNS)/run, "", "", "", "", "", "")
	line("", "other", "", p.OtherNS, float64(p.OtherNS)/run, "", "", "", "", "", "")
	_, err := io.WriteString(out, b.String())
	return err
}

// row adds the cells of one line.
func row(b *strings.Builder, cells ...any) {
	b.WriteString(strings.TrimRight(fmt.Sprintf("%-10s %-15s %7s %9s %8s %10s %5s %8s %8s %9s %8s", cells...), " ") + "\n")
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
