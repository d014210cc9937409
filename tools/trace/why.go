package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Cause is why a run waited for a record.
type Cause string

const (
	Disk    Cause = "disk"    // the disk was busy with other records before: reading takes longer than computing
	Banks   Cause = "banks"   // the disk was idle until a bank, or a dense slot, was given back
	Routes  Cause = "routes"  // the disk was idle until routing was known
	Start   Cause = "start"   // the run began with it: nothing was there to compute
	Reread  Cause = "reread"  // the record had been read as a guess and dropped, or failed
	Unknown Cause = "unknown" // the trace has no read of it
)

// Doc says what a cause is, and what helps.
func (c Cause) Doc() string {
	return map[Cause]string{
		Disk:    "the disk was busy with other records: it is slower than the computation; a longer prompt computes more for each byte, and a process of many runs keeps weights in more --memory",
		Banks:   "the disk was idle, and no bank or dense slot was free to read into: more --banks, or --memory",
		Routes:  "the disk was idle until routes were known: of long prompts --schedule before-routing begins sooner; of short ones it reads what nobody wants",
		Start:   "nothing could be computed before the first records were there",
		Reread:  "it was read twice: after it was dropped, or after a fault",
		Unknown: "the trace has no read of it",
	}[c]
}

// A Delay is a wait and why it was.
type Delay struct {
	Wait   Slice
	Cause  Cause
	Read   *Slice        // that it ended with; nil if there is none
	Before time.Duration // that the read had begun before the wait; negative: after the wait had begun
	After  string        // what the read came after
}

// A Summary says where a run's time went.
type Summary struct {
	Tokens  string        // what ran: the batches' names
	Total   time.Duration // of all batches
	Reading time.Duration // with a read in flight
	Compute time.Duration // in programs
	Waiting time.Duration
	Bytes   int64
	Reads   int
	Dropped int
	Head    int     // the number that the head has as a layer; 0: none ran
	Graphs  []Part  // computing by what graphs are of, falling
	Causes  []Part  // waiting by cause, falling
	Delays  []Delay // all waits, the longest first
}

// A Part is a share of a time.
type Part struct {
	Name string
	Took time.Duration
	N    int
}

// Bubble is the share of the time in which neither reading nor computing limits.
func (s Summary) Bubble() float64 {
	if s.Total == 0 {
		return 0
	}
	return 1 - float64(max(s.Reading, s.Compute))/float64(s.Total)
}

// Neither is the time that went into neither computing nor waiting; 0 where these
// overlap.
func (s Summary) Neither() time.Duration { return max(0, s.Total-s.Compute-s.Waiting) }

// Summarize says where the time of a timeline went.
func (t *Timeline) Summarize() Summary {
	s := Summary{Dropped: len(t.Drops)}
	s.Tokens, s.Total = t.ran()
	reads := slices.Concat(t.Readers...)
	s.Reads, s.Reading = len(reads), union(reads)
	for _, r := range reads {
		s.Bytes += r.Bytes
	}
	graphs, causes := map[string]*Part{}, map[string]*Part{}
	for _, p := range t.Programs {
		s.Compute += p.Took()
		count(graphs, phase(p.Graph), p.Took())
		if strings.HasPrefix(p.Graph, "head.") {
			s.Head = p.Layer
		}
	}
	why := newReasons(t, reads)
	for _, w := range t.Waits {
		d := why.of(w)
		s.Waiting += w.Took()
		count(causes, string(d.Cause), w.Took())
		s.Delays = append(s.Delays, d)
	}
	s.Graphs, s.Causes = falling(graphs), falling(causes)
	slices.SortStableFunc(s.Delays, func(a, b Delay) int { return cmp.Compare(b.Wait.Took(), a.Wait.Took()) })
	return s
}

// ran is what the batches were, and how long they took together.
func (t *Timeline) ran() (names string, total time.Duration) {
	if len(t.Batches) == 0 {
		from, to := t.Span()
		return "a run without an end", to - from
	}
	const most = 4
	var list []string
	for i, b := range t.Batches {
		total += b.Took()
		if i < most {
			list = append(list, b.Name)
		}
	}
	if n := len(t.Batches) - most; n > 0 {
		list = append(list, fmt.Sprintf("%d more", n))
	}
	return strings.Join(list, ", "), total
}

func count(parts map[string]*Part, name string, took time.Duration) {
	if parts[name] == nil {
		parts[name] = &Part{Name: name}
	}
	parts[name].Took += took
	parts[name].N++
}

func falling(parts map[string]*Part) []Part {
	var out []Part
	for _, p := range parts {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Part) int { return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Name, b.Name)) })
	return out
}

// union is the time in which any of some slices is under way.
func union(all []Slice) (sum time.Duration) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Slice) int { return cmp.Compare(a.Start, b.Start) })
	var end time.Duration = -1
	for _, s := range all {
		if s.End > end {
			sum += s.End - max(s.Start, end)
			end = s.End
		}
	}
	return sum
}
