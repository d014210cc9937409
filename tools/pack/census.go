package pack

import (
	"cmp"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/models"
	"estream/passes"
)

// A Census counts the parameters of a packed module. A head that is the embedding
// counts once, though a package stores both, and buffers do not count.
type Census struct {
	Params, Experts, Active int64 // all, those of experts, and those that a token meets
	Kinds                   []Kind
}

// A Kind is the weights of some records that have one type.
type Kind struct {
	Name   string   // experts, layers, head or embed
	Type   ir.DType // as stored
	Values int64    // stored, of whatever use
	Bytes  int64    // as packed, without what pads records
}

// Count takes the census of a packed module of a vocabulary. Buffers are those of
// the family's table; tied is config.json's word on the head. Both may be unknown.
func Count(m *ir.Module, p lower.Packing, vocab int, w models.Weights, tied bool) (*Census, error) {
	records, err := passes.Records(m, p)
	if err != nil {
		return nil, err
	}
	c := tally{weights: w, tied: tied}
	for _, class := range m.Layers {
		c.record("layers", records[class], 1, 1)
		callee, n, err := passes.Routed(m, class)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			c.record("experts", records[callee], int64(n), int64(chosen(m, class)))
		}
	}
	head, err := records[passes.HeadProj].Bind(p, lower.Dims{"P": vocab})
	if err != nil {
		return nil, err
	}
	c.record("head", records[passes.HeadNorm], 1, 1)
	c.record("head", head, 1, 1)
	return &c.Census, c.table(m, vocab)
}

// chosen is how many experts of a class a token has.
func chosen(m *ir.Module, class string) int {
	for _, v := range m.Graph(class + "." + passes.ExpertsPhase).Values {
		if v.Op == ir.Experts {
			return v.Args[1].Type.Last().N
		}
	}
	return 0
}

// A tally is a census under way.
type tally struct {
	Census
	weights models.Weights
	tied    bool
}

// record counts a record that is there so many times, of which a token meets some.
func (c *tally) record(kind string, r passes.Record, times, met int64) {
	for _, w := range r.Weights {
		c.weight(kind, w.Name, w.Type, w.Size, times, met)
	}
}

// table counts the embeddings.
func (c *tally) table(m *ir.Module, vocab int) error {
	for _, w := range m.Graph(passes.EmbedGraph).Weights() {
		t := tableRows(w, vocab)
		n, err := lower.PlainSize(t)
		if err != nil {
			return err
		}
		c.weight("embed", w.Name, t, n, 1, 1)
	}
	return nil
}

func (c *tally) weight(kind, name string, t ir.Type, size, times, met int64) {
	n := int64(1)
	for _, d := range t.Dims {
		n *= int64(d.N)
	}
	c.kind(kind, t.DType, times*n, times*size)
	if c.weights[name].Buffer || c.tied && name == "head.weight" {
		return
	}
	c.Params += times * n
	c.Active += met * n
	if strings.HasPrefix(name, "expert.") {
		c.Experts += times * n
	}
}

func (c *tally) kind(name string, t ir.DType, values, bytes int64) {
	i, there := slices.BinarySearchFunc(c.Kinds, Kind{Name: name, Type: t}, func(a, b Kind) int {
		order := []string{"experts", "layers", "head", "embed"}
		return cmp.Or(slices.Index(order, a.Name)-slices.Index(order, b.Name), cmp.Compare(b.Type, a.Type))
	})
	if !there {
		c.Kinds = slices.Insert(c.Kinds, i, Kind{Name: name, Type: t})
	}
	c.Kinds[i].Values += values
	c.Kinds[i].Bytes += bytes
}
