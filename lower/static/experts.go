package static

import (
	"context"
	"errors"
	"fmt"

	"estream/lower"
	"estream/passes"
)

// runExperts adds the output of each expert of a group to its rows of y, launch by
// launch.
func (p *program) runExperts(ctx context.Context, c *lower.Call, _ lower.Dims) error {
	policy := p.owner.policy
	rows := make([]int, len(c.Group))
	for i, e := range c.Group {
		rows[i] = len(e.Rows)
	}
	launches, w := Spread(p.spread, policy.cost(), policy.Drop, rows)
	group := c.Group
	if w.Dropped > 0 {
		group = keep(group, launches)
	}
	for _, l := range launches {
		run := p.launch
		if l.G == 0 {
			run = p.runOnHost
		}
		if err := run(ctx, c, group, l); err != nil {
			return err
		}
	}
	p.owner.worked.Add(w)
	if policy.Report != nil {
		policy.Report(p.graph.Name, w)
	}
	return nil
}

// launch runs pieces on the device; bodies without one have no rows, and the
// weights of the last.
func (p *program) launch(ctx context.Context, c *lower.Call, group []lower.Expert, l passes.Launch) error {
	part := func(body int) (rows []int32, w []float32) {
		if body >= len(l.Pieces) {
			return nil, nil
		}
		i := l.Pieces[body]
		return group[i.Expert].Rows[i.From:i.To], group[i.Expert].W[i.From:i.To]
	}
	var weights [][]lower.Buffer
	for body := range l.G {
		e := &group[l.Pieces[min(body, len(l.Pieces)-1)].Expert]
		var of []lower.Buffer
		for i := range e.Factors {
			of = append(of, p.expert.Weight(e, i))
		}
		weights = append(weights, of)
	}
	fill := func(s slot) {
		rows, w := part(s.body)
		p.gather(c, s, rows, w)
	}
	drain := func(s slot) {
		rows, _ := part(s.body)
		scatter(c.Out[s.i], s, rows)
	}
	t := p.tierOf(l.R, l.G)
	err := t.exec(ctx, p.pickWeights(t, weights...), fill, drain)
	if err == nil {
		return nil
	}
	if len(l.Pieces) > 1 {
		return unblamed(err)
	}
	rows, _ := part(0)
	err = lower.MapRow(err, len(rows), func(row int) int { return int(rows[row]) })
	return &lower.ExpertError{Index: l.Pieces[0].Expert, Of: len(c.Group), Err: err}
}

// unblamed returns err without the row that it blames: of a launch of several
// experts nobody knows whose it is.
func unblamed(err error) error {
	var row *lower.RowError
	if errors.As(err, &row) {
		return fmt.Errorf("one of several experts: %v", err)
	}
	return err
}

// runOnHost runs whole experts on the host.
func (p *program) runOnHost(ctx context.Context, c *lower.Call, group []lower.Expert, l passes.Launch) error {
	call := &lower.Call{In: c.In, Out: c.Out}
	for _, i := range l.Pieces {
		call.Group = append(call.Group, group[i.Expert])
	}
	err := p.host.Run(ctx, call)
	var expert *lower.ExpertError
	if errors.As(err, &expert) && expert.Index < len(l.Pieces) {
		return &lower.ExpertError{Index: l.Pieces[expert.Index].Expert, Of: len(c.Group), Err: expert.Err}
	}
	return err
}

// gather fills an expert's x with the given rows of x, or its w, then zeros.
func (p *program) gather(c *lower.Call, s slot, rows []int32, w []float32) {
	dst := s.Bytes()
	if s.i == p.expert.W {
		f := lower.F32(dst)
		clear(f[copy(f, w):])
		return
	}
	x := c.In[s.i].Bytes()
	row := int64(len(dst) / s.Type.Dims[0].N)
	for _, r := range rows {
		dst = dst[copy(dst, x[int64(r)*row:][:row]):]
	}
	clear(dst)
}

// scatter adds the first rows of s to the given rows of y, in order.
func scatter(y lower.Buffer, s slot, rows []int32) {
	from, to := lower.F32(s.Bytes()), lower.F32(y.Bytes())
	k := s.Type.Last().N
	for i, r := range rows {
		for j := range k {
			to[int(r)*k+j] += from[i*k+j]
		}
	}
}
