package calibrate

import (
	"fmt"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/passes"
	"estream/runtime"
)

// A Counter counts how a model routes. Its methods are called by the goroutine of
// Run.
type Counter struct {
	batch  int
	layers []*layer // nil for a layer without experts
	names  []string // of the values that are tapped
	under  [][]int32
	timing *Timing // of programs on the host; nil: none
}

// A layer is the counts of one layer.
type layer struct {
	name    string // of its ids
	chosen  int    // experts a token
	counts  []int  // tokens of each expert
	seen    []int  // how often an expert had so many rows of a batch
	open    []int  // rows in the batch that is being filled
	filled  int    // tokens of it
	batches int
	kept    [][]int // rows of every stride-th batch
	stride  int
}

// keptBatches bounds the batches whose rows are kept: half of them, and so on,
// where there are more.
const keptBatches = 512

// NewCounter counts batches of so many tokens of a package's module. It is an error
// if no layer has experts.
func NewCounter(m *ir.Module, batch int) (*Counter, error) {
	c := &Counter{batch: batch, under: make([][]int32, len(m.Layers))}
	for _, class := range m.Layers {
		l, err := newLayer(m, class, batch)
		if err != nil {
			return nil, err
		}
		c.layers = append(c.layers, l)
		if l != nil && !slices.Contains(c.names, l.name) {
			c.names = append(c.names, l.name)
		}
	}
	if len(c.names) == 0 {
		return nil, fmt.Errorf("no layer of the package has experts: there is nothing to calibrate")
	}
	return c, nil
}

func newLayer(m *ir.Module, class string, batch int) (*layer, error) {
	_, n, err := passes.Routed(m, class)
	if err != nil || n == 0 {
		return nil, err
	}
	for _, v := range m.Graph(class + "." + passes.ExpertsPhase).Values {
		if v.Op == ir.Experts {
			ids := v.Args[1]
			return &layer{name: ids.Name, chosen: ids.Type.Last().N, counts: make([]int, n), open: make([]int, n), seen: make([]int, batch+1), stride: 1}, nil
		}
	}
	return nil, fmt.Errorf("layer class %s: nothing calls its experts", class)
}

// Watch makes a model that is opened with o tell c of its routes.
func (c *Counter) Watch(o *runtime.Options) {
	taps, events := o.Tap, o.Events
	o.Taps = append(o.Taps, c.names...)
	o.Tap = func(t runtime.Tap) {
		if taps != nil {
			taps(t)
		}
		c.tap(t)
	}
	if c.timing != nil {
		o.Events = func(e runtime.Event) {
			if events != nil {
				events(e)
			}
			c.timing.host(e)
		}
	}
}

func (c *Counter) tap(t runtime.Tap) {
	if t.Layer < 0 || t.Layer >= len(c.layers) || c.layers[t.Layer] == nil || c.layers[t.Layer].name != t.Name {
		return
	}
	ids := slices.Clone(lower.I32(t.Buffer.Bytes()))
	c.under[t.Layer] = ids
	if c.timing != nil {
		rows := make([]int, len(c.layers[t.Layer].counts))
		for _, e := range ids {
			rows[e]++
		}
		c.timing.routed(rows)
	}
}

// End counts the run that has ended, or forgets one that failed.
func (c *Counter) End(counts bool) {
	for i, ids := range c.under {
		if l := c.layers[i]; l != nil && counts {
			for at := 0; at+l.chosen <= len(ids); at += l.chosen {
				l.token(ids[at:at+l.chosen], c.batch)
			}
		}
		c.under[i] = nil
	}
}

// token counts a token's experts, which ids of a model are known to be.
func (l *layer) token(ids []int32, batch int) {
	for _, e := range ids {
		l.counts[e]++
		l.open[e]++
	}
	if l.filled++; l.filled < batch {
		return
	}
	for _, n := range l.open {
		l.seen[n]++
	}
	if l.batches%l.stride == 0 {
		l.kept = append(l.kept, slices.Clone(l.open))
	}
	l.batches++
	if len(l.kept) == keptBatches {
		for i := range keptBatches / 2 {
			l.kept[i] = l.kept[2*i]
		}
		l.kept, l.stride = l.kept[:keptBatches/2], 2*l.stride
	}
	clear(l.open)
	l.filled = 0
}

// routed are the layers with experts, and which they are.
func (c *Counter) routed() (ls []*layer, at []int) {
	for i, l := range c.layers {
		if l != nil {
			ls, at = append(ls, l), append(at, i)
		}
	}
	return ls, at
}

// Tokens and Batches return what was counted.
func (c *Counter) Tokens() int {
	ls, _ := c.routed()
	return ls[0].batches*c.batch + ls[0].filled
}

// Batches returns how many batches were counted whole.
func (c *Counter) Batches() int {
	ls, _ := c.routed()
	return ls[0].batches
}

// result returns the layers' part of a calibration.
func (c *Counter) result() []Layer {
	var out []Layer
	ls, at := c.routed()
	for i, l := range ls {
		r := Layer{Layer: at[i], Chosen: l.chosen, Counts: slices.Clone(l.counts), Popularity: popularity(l.counts), Unreached: []int{}, Rows: [][2]int{}}
		for e, n := range l.counts {
			if n == 0 {
				r.Unreached = append(r.Unreached, e)
			}
		}
		for rows, times := range l.seen {
			if times > 0 {
				r.Rows = append(r.Rows, [2]int{rows, times})
			}
		}
		r.Spread, r.Threshold = l.drift()
		out = append(out, r)
	}
	return out
}

// popularity returns the shares of counts, each taken to be one larger.
func popularity(counts []int) []float64 {
	sum := len(counts)
	for _, n := range counts {
		sum += n
	}
	p := make([]float64, len(counts))
	for e, n := range counts {
		p[e] = float64(n+1) / float64(sum)
	}
	return p
}
