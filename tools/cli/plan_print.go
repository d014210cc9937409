package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"estream/runtime/planner"
)

// plans is what is printed.
type plans struct {
	*planner.Planner
	dir, kept string
	lengths   []planned
	crossing  int // n*, 0: none
}

// planned is what is printed of a length of prompt.
type planned struct {
	tokens int
	planner.Choice
	frontier []planner.Choice
}

func (p *plans) print(out io.Writer) error {
	d := p.Profile.Disk
	fmt.Fprintf(out, "profile  %s\ndisk     %s/s, %.0f us a read, checksums %s/s\n", p.kept, formatSize(int64(d.Rate)), float64(d.Latency)/1e3, formatSize(int64(d.Check)))
	if d.Burst > 0 {
		fmt.Fprintf(out, "limit    reads after a pause are faster: up to %.1f ms are saved up, and then %s/s\n", float64(d.Burst)/1e6, formatSize(int64(d.Peak)))
	}
	switch p.crossing {
	case 0:
		fmt.Fprintln(out, "n*       none: the disk limits at every length that fits")
	case 1:
		fmt.Fprintln(out, "n*       1 token: the disk never limits")
	default:
		fmt.Fprintf(out, "n*       %d tokens: from there on Texec is at least Tio; with fewer, weights in memory would be faster\n", p.crossing)
	}
	for _, x := range p.lengths {
		g := x.Plan.Geometry
		fmt.Fprintf(out, "\n%d tokens: Q=%d B=%d G=%d, in chunks of %d\n", x.tokens, x.Plan.Readers, g.Banks, g.Group, x.Plan.Chunk)
		fmt.Fprintf(out, "time     %s the first run, Tio %s, Texec %s, bubble %.1f %%; %s each one after it\n",
			seconds(x.First.Time), seconds(x.First.Reads), seconds(x.First.Compute), 100*x.First.Bubble(), seconds(x.Next.Time))
		fmt.Fprintf(out, "memory   %s, of it arena %s; %s mapped a session\n", formatSize(x.Plan.Bytes()), formatSize(g.Bytes()), formatSize(p.Mapped(x.Plan)))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "memory\tfirst run\tbubble\tafter it\tbubble\tQ\tB\tG\tchunk\tmapped\t")
		for _, c := range x.frontier {
			g := c.Plan.Geometry
			fmt.Fprintf(w, "%s\t%s\t%.1f %%\t%s\t%.1f %%\t%d\t%d\t%d\t%d\t%s\t\n", formatSize(c.Plan.Bytes()), seconds(c.First.Time), 100*c.First.Bubble(),
				seconds(c.Next.Time), 100*c.Next.Bubble(), c.Plan.Readers, g.Banks, g.Group, c.Plan.Chunk, formatSize(p.Mapped(c.Plan)))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// seconds are thousandths, or finer of a time that has few of them.
func seconds(d time.Duration) string {
	digits := 3
	if d < 100*time.Millisecond {
		digits = 5
	}
	return fmt.Sprintf("%.*f s", digits, d.Seconds())
}

func (p *plans) json() map[string]any {
	choice := func(c planner.Choice) map[string]any {
		g := c.Plan.Geometry
		return map[string]any{
			"schedule": c.Plan.Schedule.String(), "q": c.Plan.Readers, "b": g.Banks, "g": g.Group, "chunk": c.Plan.Chunk,
			"ttft_s": c.First.Time.Seconds(), "tio_s": c.First.Reads.Seconds(), "texec_s": c.First.Compute.Seconds(), "bubble": c.First.Bubble(),
			"next_s": c.Next.Time.Seconds(), "next_tio_s": c.Next.Reads.Seconds(), "next_bubble": c.Next.Bubble(), "bytes_read": c.First.Bytes, "next_bytes_read": c.Next.Bytes,
			"plan_bytes": c.Plan.Bytes(), "arena_bytes": g.Bytes(), "mapped_bytes": p.Mapped(c.Plan),
		}
	}
	var out []map[string]any
	var crossing *int
	if p.crossing > 0 {
		crossing = &p.crossing
	}
	for _, x := range p.lengths {
		v := choice(x.Choice)
		v["tokens"] = x.tokens
		var frontier []map[string]any
		for _, c := range x.frontier {
			frontier = append(frontier, choice(c))
		}
		v["frontier"] = frontier
		out = append(out, v)
	}
	profile := map[string]any{
		"taken": p.Profile.Taken, "disk_bytes_per_s": p.Profile.Disk.Rate, "read_latency_s": p.Profile.Disk.Latency.Seconds(),
		"checksum_bytes_per_s": p.Profile.Disk.Check, "burst_s": p.Profile.Disk.Burst.Seconds(), "burst_bytes_per_s": p.Profile.Disk.Peak, "drag": p.Profile.Drag, "compute_s": p.Profile.Classes,
	}
	return map[string]any{"package": p.dir, "profile": profile, "n_star": crossing, "schedule": p.Schedule.String(), "plans": out}
}
