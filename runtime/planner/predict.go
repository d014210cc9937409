package planner

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"estream/ir"
	"estream/pager"
	"estream/pager/layout"
	"estream/pager/simulate"
	"estream/passes"
	"estream/runtime"
)

// A Package is what a prediction needs to know of a package.
type Package struct {
	Layers []Layer
	Head   []int64 // bytes of its records
	Table  int64   // bytes of the embedding table

	Routers []int64 // bytes of each read before a first run that guesses
}

// A Layer is what a layer reads.
type Layer struct {
	Class   string
	Dense   int64 // bytes of its record
	Stride  int64 // bytes of an expert's
	Experts int
	TopK    int // experts a token
}

// Describe returns what a prediction needs to know of a model.
func Describe(m *runtime.Model) Package {
	man, module := m.Manifest(), m.Module()
	p := Package{Table: man.Rows[0].Size(), Routers: m.Routers()}
	for _, class := range module.Layers {
		p.Layers = append(p.Layers, Layer{Class: class, TopK: topK(module, class)})
	}
	for _, r := range man.Dense {
		if r.Layer < len(p.Layers) {
			p.Layers[r.Layer].Dense = r.Stride(man.Align)
		} else {
			p.Head = append(p.Head, r.Stride(man.Align))
		}
	}
	for _, r := range man.Experts {
		l := &p.Layers[r.Layer]
		l.Stride, l.Experts = r.Stride(man.Align), l.Experts+1
	}
	return p
}

func topK(module *ir.Module, class string) int {
	if g := module.Graph(class + "." + passes.ExpertsPhase); g != nil {
		for _, v := range g.Values {
			if v.Op == ir.Experts {
				return v.Args[1].Type.Last().N
			}
		}
	}
	return 0
}

// A Planner predicts and picks plans of one package on one machine.
type Planner struct {
	Profile  *Profile
	Package  Package
	Schedule pager.Schedule // of all plans; Auto: each has its own
	Limit    int64          // bytes that a session of an accelerator can map; 0: no limit

	routes map[int][][]int // of each layer, by tokens
}

// Predict simulates a run of a plan: the first of a process, or one that finds in memory what is to stay there.
func (p *Planner) Predict(plan runtime.Plan, first bool) (simulate.Totals, error) {
	c := simulate.Config{Arena: plan.Geometry, Schedule: cmp.Or(p.Schedule, plan.Schedule), Readers: plan.Readers, Disk: p.Profile.Disk, Drag: p.Profile.Drag, Heads: 1}
	records, table := plan.Pinned()
	for _, r := range records {
		c.Pins = append(c.Pins, simulate.Pin{Stage: r.Stage, Dense: r.Dense, First: r.First, Count: r.Count, Loaded: !first})
	}
	if first && c.Schedule == pager.Guessed {
		c.Fetch, c.Depth = append(c.Fetch, p.Package.Routers...), runtime.TableReaders
	}
	if first || !table {
		blocks := math.Ceil(float64(p.Package.Table) / layout.BlockSize)
		random := blocks * (1 - math.Pow(1-1/max(1, blocks), float64(plan.Tokens))) // that random tokens lie in
		for i := range int64(math.Ceil(random)) {
			c.Fetch = append(c.Fetch, min(layout.BlockSize, p.Package.Table-i*layout.BlockSize))
		}
		c.Depth = runtime.TableReaders
	}
	c.Embed = p.Profile.Embed.of(chunks(plan), plan.Tokens, 0)
	rows := p.rows(plan.Tokens)
	for l, layer := range p.Package.Layers {
		st, err := p.stage(layer, plan, rows[l])
		if err != nil {
			return simulate.Totals{}, err
		}
		c.Stages = append(c.Stages, st)
	}
	guess(c.Stages)
	c.Stages = append(c.Stages, p.head(plan))
	c.Heads = (plan.Rows + plan.Head - 1) / max(1, plan.Head)
	return simulate.Run(c)
}

// guess has each layer's experts guessed, and rightly, once the layer before it is routed.
func guess(layers []simulate.Stage) {
	var next []int
	for l := len(layers) - 1; l >= 0; l-- {
		st := &layers[l]
		st.After = next
		if len(st.Rows) > 0 {
			next = nil
			for e, n := range st.Rows {
				if n > 0 {
					next = append(next, e)
				}
			}
		}
	}
}

func chunks(plan runtime.Plan) int { return (plan.Tokens + plan.Chunk - 1) / max(1, plan.Chunk) }

func (p *Planner) stage(l Layer, plan runtime.Plan, rows []int) (simulate.Stage, error) {
	c, ok := p.Profile.Classes[l.Class]
	if !ok {
		return simulate.Stage{}, fmt.Errorf("the profile has no layer class %s: it is of another package", l.Class)
	}
	pairs := float64(plan.Tokens) * (float64(plan.Tokens)/float64(max(1, plan.Sequences)) + 1) / 2
	return simulate.Stage{
		Dense:  []simulate.Dense{{Bytes: l.Dense, Time: c.Body.of(chunks(plan), plan.Tokens, pairs)}},
		Stride: l.Stride, Rows: rows,
		Group: func(rows []int) time.Duration {
			all := 0
			for _, n := range rows {
				all += n
			}
			return c.Group.of(1, all, float64(len(rows))) + c.Rest.of(0, 0, 1)
		},
		Side: c.Side.of(chunks(plan), plan.Tokens, 0),
		Tail: c.Tail.of(chunks(plan), plan.Tokens, 0) + c.Rest.of(1, plan.Tokens, 0),
	}, nil
}

// head takes as long for each byte and row as the first layer's body: it is never measured, and hardly counts.
func (p *Planner) head(plan runtime.Plan) (st simulate.Stage) {
	first := p.Package.Layers[0]
	body := p.Profile.Classes[first.Class].Body.of(1, plan.Head, 0)
	for _, n := range p.Package.Head {
		st.Dense = append(st.Dense, simulate.Dense{Bytes: n, Time: time.Duration(float64(body) * float64(n) / float64(max(1, first.Dense)))})
	}
	return st
}

// mostRouted is how many tokens are routed for a prediction; more are taken to go where these went.
const mostRouted = 2048

// rows is how many rows each expert of each layer has: tokens pick experts at random.
func (p *Planner) rows(tokens int) [][]int {
	if p.routes[tokens] != nil {
		return p.routes[tokens]
	}
	rng, out := rand.New(rand.NewPCG(1, uint64(tokens))), make([][]int, len(p.Package.Layers))
	n := min(tokens, mostRouted)
	for i, l := range p.Package.Layers {
		out[i] = make([]int, l.Experts)
		last := make([]int, l.Experts) // the token that picked each expert last
		for t := 1; t <= n && l.Experts > 0; t++ {
			for range l.TopK {
				e := rng.IntN(l.Experts)
				for last[e] == t {
					e = rng.IntN(l.Experts)
				}
				last[e] = t
				out[i][e]++
			}
		}
		for e := range out[i] {
			out[i][e] = int(math.Ceil(float64(out[i][e]) * float64(tokens) / float64(n)))
		}
	}
	if p.routes == nil {
		p.routes = map[int][][]int{}
	}
	p.routes[tokens] = out
	return out
}

// Mapped is the bytes of weights that a session of an accelerator maps for a plan: the arena, and what stays in memory.
func (p *Planner) Mapped(plan runtime.Plan) int64 {
	n := plan.Geometry.Bytes()
	records, _ := plan.Pinned()
	for _, r := range records {
		switch {
		case !r.Dense:
			n += int64(r.Count) * p.Package.Layers[r.Stage].Stride
		case r.Stage < len(p.Package.Layers):
			n += p.Package.Layers[r.Stage].Dense
		default:
			n += p.Package.Head[r.First]
		}
	}
	return n
}
