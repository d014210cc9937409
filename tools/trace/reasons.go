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
	reads    map[string][]ranged // by layer and kind of records, in order of time
	drops    map[string][]ranged // likewise
	busy     []Slice             // spans with a read in flight, apart from each other, in order of time
	released []mark              // cells given back
	routed   []mark              // routes known, and guesses dropped for it
	batches  []Slice
}

// A ranged is a slice whose records are those from first to last of their kind.
type ranged struct {
	Slice
	first, last int
	latest      time.Duration // of reads: the latest end of those of its kind up to it
}

func rangedOf(s Slice) (kind string, r ranged) {
	kind, first, last := place(s.Records)
	return kind, ranged{s, first, last, 0}
}

// overlaps reports whether two of one kind have a record in common.
func (r ranged) overlaps(other ranged) bool { return r.first <= other.last && other.first <= r.last }

// A mark is a moment that something became possible.
type mark struct {
	at   time.Duration
	what string
}

func newReasons(t *Timeline, reads []Slice) *reasons {
	r := &reasons{reads: map[string][]ranged{}, drops: map[string][]ranged{}, batches: t.Batches}
	reads = slices.Clone(reads)
	slices.SortFunc(reads, func(a, b Slice) int { return cmp.Compare(a.Start, b.Start) })
	for _, x := range reads {
		kind, read := rangedOf(x)
		read.latest = x.End
		if n := len(r.reads[kind]); n > 0 {
			read.latest = max(x.End, r.reads[kind][n-1].latest)
		}
		r.reads[kind] = append(r.reads[kind], read)
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
		kind, drop := rangedOf(d)
		r.drops[kind] = append(r.drops[kind], drop)
		r.routed = append(r.routed, mark{d.Start, fmt.Sprintf("the guess %s was dropped", d.Records)})
	}
	for _, marks := range [][]mark{r.released, r.routed} {
		slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
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

// began is when the batch of a moment did; 0 where there is none.
func (r *reasons) began(at time.Duration) time.Duration {
	i := sort.Search(len(r.batches), func(i int) bool { return r.batches[i].Start > at }) - 1
	if i < 0 {
		return 0
	}
	return r.batches[i].Start
}

// mostRereads is how many reads are looked at that came before the one that ended a
// wait, for one that was in vain.
const mostRereads = 256

// of says why a wait was: what kept back the read of its records that ended last
// before it did, or what made it necessary to read them again in the same batch.
func (r *reasons) of(w Slice) Delay {
	d := Delay{Wait: w, Cause: Unknown}
	kind, wait := rangedOf(w)
	reads := r.reads[kind]
	x := -1
	from := sort.Search(len(reads), func(i int) bool { return reads[i].Start >= w.End })
	for i := from - 1; i >= 0 && (x < 0 || reads[i].latest > reads[x].End); i-- {
		if reads[i].End <= w.End && reads[i].overlaps(wait) && (x < 0 || reads[i].End > reads[x].End) {
			x = i
		}
	}
	if x < 0 {
		return d
	}
	d.Read, d.Before = &reads[x].Slice, w.Start-reads[x].Start
	d.Cause, d.After = r.trigger(reads[x].Slice, w.Took())
	began := r.began(w.Start)
	for i := x - 1; i >= max(0, x-mostRereads) && reads[i].Start >= began; i-- {
		if !reads[i].overlaps(wait) {
			continue
		}
		if why := r.inVain(kind, reads[i], reads[x]); why != "" {
			d.Cause, d.After = Reread, why
			break
		}
	}
	return d
}

// inVain says why a read had to be done again by x; empty: it had not.
func (r *reasons) inVain(kind string, earlier, x ranged) string {
	if earlier.End > x.Start {
		return ""
	}
	if earlier.Error != "" && earlier.End >= x.Start-time.Second {
		return "a read of it failed: " + earlier.Error
	}
	drops := r.drops[kind]
	i := sort.Search(len(drops), func(i int) bool { return drops[i].Start >= earlier.Start })
	for ; i < len(drops) && drops[i].Start <= x.Start; i++ {
		if drops[i].overlaps(earlier) {
			return "it had been read before and dropped"
		}
	}
	return ""
}

// trigger is why a read did not begin earlier by so long, and what it came after.
func (r *reasons) trigger(x Slice, earlier time.Duration) (Cause, string) {
	begun := r.began(x.Start)
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
