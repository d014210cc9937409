package trace

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// reasons finds why waits were. A run would not have waited had the read begun earlier,
// by as long as the wait was. Where the disk was reading other records then, it is the
// disk that limits; where it was idle, it is what the read came after.
type reasons struct {
	reads    map[string][]Slice // by layer and kind of records, in order of time
	busy     []Slice            // spans with a read in flight, apart from each other, in order of time
	released []mark             // cells given back
	routed   []mark             // routes known, and guesses dropped for it
	drops    []Slice
	first    []time.Duration // beginnings of batches
}

// A mark is a moment that something became possible.
type mark struct {
	at   time.Duration
	what string
}

func newReasons(t *Timeline, reads []Slice) *reasons {
	r := &reasons{reads: map[string][]Slice{}, drops: t.Drops}
	reads = slices.Clone(reads)
	slices.SortFunc(reads, func(a, b Slice) int { return cmp.Compare(a.Start, b.Start) })
	for _, x := range reads {
		kind, _, _ := place(x.Records)
		r.reads[kind] = append(r.reads[kind], x)
		if n := len(r.busy); n > 0 && x.Start <= r.busy[n-1].End {
			r.busy[n-1].End = max(r.busy[n-1].End, x.End)
			continue
		}
		r.busy = append(r.busy, Slice{Start: x.Start, End: x.End})
	}
	r.release("dense slot", t.Slots)
	r.release("bank", t.Banks)
	for _, p := range t.Programs {
		if phase(p.Graph) == "route" {
			r.routed = append(r.routed, mark{p.End, fmt.Sprintf("layer %d was routed", p.Layer)})
		}
	}
	for _, d := range t.Drops {
		r.routed = append(r.routed, mark{d.Start, fmt.Sprintf("the guess %s was dropped", d.Records)})
	}
	for _, marks := range [][]mark{r.released, r.routed} {
		slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	}
	for _, b := range t.Batches {
		r.first = append(r.first, b.Start)
	}
	return r
}

// release marks when cells were given back.
func (r *reasons) release(kind string, cells [][]Slice) {
	for i, cell := range cells {
		for _, s := range cell {
			if s.Name == "in use" {
				r.released = append(r.released, mark{s.End, fmt.Sprintf("%s %d was given back by %s", kind, i, s.Records)})
			}
		}
	}
}

// reading is how long a read was in flight between two times.
func (r *reasons) reading(from, to time.Duration) (sum time.Duration) {
	i := sort.Search(len(r.busy), func(i int) bool { return r.busy[i].End > from })
	for ; i < len(r.busy) && r.busy[i].Start < to; i++ {
		sum += min(to, r.busy[i].End) - max(from, r.busy[i].Start)
	}
	return sum
}

// place is the layer and kind that records are of, and the first and last of them.
func place(records string) (kind string, first, last int) {
	i := strings.LastIndexByte(records, ' ')
	if i < 0 {
		return records, 0, 0
	}
	switch n, _ := fmt.Sscanf(records[i+1:], "%d-%d", &first, &last); n {
	case 0:
		return records, 0, 0
	case 1:
		last = first
	}
	return records[:i], first, last
}

// overlap reports whether two names of records have one in common.
func overlap(a, b string) bool {
	kind, first, last := place(a)
	other, from, to := place(b)
	return kind == other && first <= to && from <= last
}

// of says why a wait was.
func (r *reasons) of(w Slice) Delay {
	d := Delay{Wait: w, Cause: Unknown}
	kind, _, _ := place(w.Records)
	var reads []Slice // of these records, that had ended when the wait did
	for _, x := range r.reads[kind] {
		if x.Start >= w.End {
			break
		}
		if x.End <= w.End && overlap(x.Records, w.Records) {
			reads = append(reads, x)
		}
	}
	if len(reads) == 0 {
		return d
	}
	x := slices.MaxFunc(reads, func(a, b Slice) int { return cmp.Compare(a.End, b.End) })
	d.Read, d.Before = &x, w.Start-x.Start
	d.Cause, d.After = r.trigger(x, w.Took())
	for _, earlier := range reads {
		if why := r.inVain(earlier, x); why != "" {
			d.Cause, d.After = Reread, why
		}
	}
	return d
}

// inVain says why a read had to be done again by x; empty: it had not.
func (r *reasons) inVain(earlier, x Slice) string {
	if earlier.End > x.Start || earlier == x {
		return ""
	}
	if earlier.Error != "" && earlier.End >= x.Start-time.Second {
		return "a read of it failed: " + earlier.Error
	}
	for _, drop := range r.drops {
		if drop.Start >= earlier.Start && drop.Start <= x.Start && overlap(drop.Records, earlier.Records) {
			return "it had been read before and dropped"
		}
	}
	return ""
}

// trigger is why a read did not begin earlier by so long, and what it came after.
func (r *reasons) trigger(x Slice, earlier time.Duration) (Cause, string) {
	begun := time.Duration(0)
	for _, b := range r.first {
		if b <= x.Start {
			begun = max(begun, b)
		}
	}
	if from := max(x.Start-earlier, begun); from < x.Start && 2*r.reading(from, x.Start) > x.Start-from {
		return Disk, "the disk had read other records"
	}
	free, freed := before(r.released, x.Start)
	routed, known := before(r.routed, x.Start)
	switch {
	case known && routed.at >= begun && (!freed || routed.at >= free.at):
		return Routes, routed.what
	case freed && free.at >= begun:
		return Banks, free.what
	}
	return Start, "the run had begun"
}

// before is the last mark up to a moment.
func before(marks []mark, at time.Duration) (mark, bool) {
	i := sort.Search(len(marks), func(i int) bool { return marks[i].at > at }) - 1
	if i < 0 {
		return mark{}, false
	}
	return marks[i], true
}

// phase is what a graph is of: "route" of c0.route, "experts" of expert3, else its name.
func phase(graph string) string {
	graph, _, _ = strings.Cut(graph, "@")
	if _, after, ok := strings.Cut(graph, "."); ok && !strings.HasPrefix(graph, "head.") {
		return after
	}
	if strings.HasPrefix(graph, "expert") {
		return "experts"
	}
	return graph
}
