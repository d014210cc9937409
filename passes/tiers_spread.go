package passes

import (
	"math"
	"slices"
)

// A Launch is part of a call of experts: pieces in a graph of G bodies of R rows
// each, or, where G is 0, whole experts on the host.
type Launch struct {
	G, R   int
	Pieces []Piece // at most G on the device
}

// A Piece is rows From to To-1 of those that an expert of the call has.
type Piece struct{ Expert, From, To int }

// Spread cuts the experts of a call, that have so many rows each, into the launches
// that cost least, among those that keep the order of experts and rows. An expert's
// rows beyond the largest tier are pieces of their own; a piece takes the smallest
// tier that holds it and its neighbours in the launch. Where costs are equal it is
// few launches, the device before the host. Without tiers of R all is on the host.
func (t Tiers) Spread(rows []int, c Cost) []Launch {
	s := spreader{cost: c, rows: rows, sizes: slices.Sorted(slices.Values(t.R)), groups: []int{1}}
	if len(t.G) > 0 {
		s.groups = slices.Sorted(slices.Values(t.G))
	}
	slices.Reverse(s.groups)
	for e, n := range rows {
		s.cut(e, n)
	}
	return s.launches(s.choose())
}

type spreader struct {
	cost          Cost
	rows          []int
	sizes, groups []int // rising, falling
	pieces        []Piece
}

func (s *spreader) cut(expert, rows int) {
	most := rows
	if len(s.sizes) > 0 {
		most = s.sizes[len(s.sizes)-1]
	}
	for from := 0; from < rows; from += most {
		s.pieces = append(s.pieces, Piece{expert, from, min(rows, from+most)})
	}
}

// A way is what the pieces from one on cost, and which launch comes first: G
// bodies of R rows, or an expert on the host, for so many pieces.
type way struct {
	cost    float64
	g, r, n int
}

// choose returns the best way from each piece on.
func (s *spreader) choose() []way {
	best := make([]way, len(s.pieces)+1)
	for i := len(s.pieces) - 1; i >= 0; i-- {
		best[i].cost = math.Inf(1)
		s.onDevice(best, i)
		s.onHost(best, i)
	}
	return best
}

func (s *spreader) onDevice(best []way, i int) {
	if len(s.sizes) == 0 {
		return
	}
	for _, g := range s.groups {
		most := min(g, len(s.pieces)-i)
		for n := most; n > 0; n-- {
			r := s.tier(s.pieces[i : i+n])
			cost := s.cost.Launch + float64(g)*(s.cost.Body+float64(r)*s.cost.Row) + best[i+n].cost
			if cost < best[i].cost {
				best[i] = way{cost, g, r, n}
			}
		}
	}
}

// tier returns the smallest tier that holds each of the pieces.
func (s *spreader) tier(pieces []Piece) int {
	most := 0
	for _, p := range pieces {
		most = max(most, p.To-p.From)
	}
	i, _ := slices.BinarySearch(s.sizes, most)
	return s.sizes[i]
}

func (s *spreader) onHost(best []way, i int) {
	p := s.pieces[i]
	if p.From > 0 || !s.cost.hosts() && len(s.sizes) > 0 {
		return
	}
	n := 1
	for i+n < len(s.pieces) && s.pieces[i+n].Expert == p.Expert {
		n++
	}
	cost := s.cost.HostExpert + s.cost.HostRow*float64(s.rows[p.Expert]) + best[i+n].cost
	if cost < best[i].cost {
		best[i] = way{cost, 0, 0, n}
	}
}

// launches makes what was chosen; experts that follow each other on the host are one.
func (s *spreader) launches(best []way) []Launch {
	var out []Launch
	for i := 0; i < len(s.pieces); i += best[i].n {
		c := best[i]
		if c.g > 0 {
			out = append(out, Launch{c.g, c.r, s.pieces[i : i+c.n]})
			continue
		}
		if len(out) == 0 || out[len(out)-1].G > 0 {
			out = append(out, Launch{})
		}
		e := s.pieces[i].Expert
		last := &out[len(out)-1]
		last.Pieces = append(last.Pieces, Piece{e, 0, s.rows[e]})
	}
	return out
}
