package runtime

import (
	"errors"
	"fmt"
	"time"

	"estream/ir"
	"estream/lower"
	"estream/pager"
	"estream/passes"
)

// buffers allocates the residual stream and what layers share.
func (r *run) buffers() error {
	m, n := r.m, r.m.residualBytes(r.plan.Tokens)
	t := ir.Tensor(ir.F32, ir.N(r.plan.Tokens), ir.N(m.hidden))
	streams := m.streams()
	mem, err := m.mem.get(m.host, "residual", streams*n, lower.Align)
	if err != nil {
		return err
	}
	r.x = lower.Buffer{Mem: mem, Len: lower.Size(t), Type: t}
	r.y = lower.Buffer{Mem: mem, Off: (streams - 1) * n, Len: lower.Size(t), Type: t}
	r.step = newStep(r.offsets, r.plan.Chunk)
	if r.frame, err = m.mem.get(m.host, "frame", max(r.plan.frame, m.embedBytes(r.plan.Chunk)), max(lower.Align, m.pkg.Manifest.Align)); err != nil {
		return err
	}
	r.state, err = m.mem.get(m.host, "state", max(r.plan.state, 1), lower.Align)
	return err
}

// layer runs layer l over the whole batch.
func (r *run) layer(l int, c *class) error {
	if err := r.guess(l, r.x); err != nil {
		return err
	}
	span, err := r.pass.Dense(r.ctx)
	if err != nil {
		return err
	}
	defer r.pass.EndStage()
	defer r.releaseDense(span, time.Now())
	dense, _ := r.m.records(l)
	lw := layerWeights{mem: r.memory(span.Pin), off: span.Off, factors: dense[0].Factors}
	env, err := r.environment(c)
	if err != nil {
		return err
	}
	if err := r.bodies(c, lw, env); err != nil {
		return err
	}
	if c.callee != nil {
		if err := r.mixture(l, c, lw, env); err != nil {
			return err
		}
	}
	r.tap(l, env)
	if !c.frame.reuse {
		r.x, r.y = r.y, r.x
	}
	return nil
}

// layerWeights is where a layer's dense record lies.
type layerWeights struct {
	mem     lower.Mem
	off     int64
	factors []float32
}

func (w layerWeights) of(p *phase) []lower.Buffer { return p.bound(w.mem, w.off, w.factors) }

// environment places the values of a layer that cross phases, x, y and the state.
func (r *run) environment(c *class) (map[string]lower.Buffer, error) {
	env, err := c.frame.place(r.frame, rows{r.plan.Tokens, r.plan.Chunk})
	if err != nil {
		return nil, err
	}
	env["x"], env["y"] = r.x, r.y
	if c.frame.reuse {
		env["y"] = r.x
	}
	if c.state.DType == ir.State {
		t, err := lower.Dims{"S": r.plan.Tokens, "B": r.plan.Sequences}.Bind(c.state)
		if err != nil {
			return nil, err
		}
		env["state"] = lower.Buffer{Mem: r.state, Len: lower.Size(t), Type: t}
		env["state.next"] = env["state"]
		if t.Kind == ir.Window {
			clear(env["state"].Bytes())
		}
	}
	return env, nil
}

// bodies runs body and route over the batch in chunks of rows, as successive
// steps with a larger past.
func (r *run) bodies(c *class, lw layerWeights, env map[string]lower.Buffer) error {
	return r.chunks(c, env, func(part map[string]lower.Buffer) error {
		if err := r.call(c.phases[passes.BodyPhase], lw.of(c.phases[passes.BodyPhase]), part); err != nil {
			return err
		}
		if p := c.phases[passes.RoutePhase]; p != nil {
			return r.call(p, lw.of(p), part)
		}
		return nil
	})
}

// chunks calls f with the environment of each chunk of rows in turn.
func (r *run) chunks(c *class, env map[string]lower.Buffer, f func(map[string]lower.Buffer) error) error {
	short := map[string]bool{}
	for _, v := range c.frame.values {
		short[v.name] = v.chunk
	}
	part := map[string]lower.Buffer{}
	for from := 0; from < r.plan.Tokens; from += r.plan.Chunk {
		to := min(from+r.plan.Chunk, r.plan.Tokens)
		for name, b := range env {
			switch {
			case b.Type.DType == ir.State:
				part[name] = b
			case short[name]:
				part[name] = b.Rows(0, to-from)
			default:
				part[name] = b.Rows(from, to)
			}
		}
		r.step.set(r.offsets, from, to)
		r.step.buffers(part)
		if err := f(part); err != nil {
			return blame(err, from, fmt.Sprintf("tokens %d to %d", from, to-1))
		}
	}
	return nil
}

// mixture runs the routed half of a layer: side graphs while experts load, the
// experts group by group in flash order, and the tail.
func (r *run) mixture(l int, c *class, lw layerWeights, env map[string]lower.Buffer) error {
	op := c.routed
	if err := r.routes.set(env[op.Args[1].Name], env[op.Args[2].Name], c.n); err != nil {
		return err
	}
	if err := r.pass.Route(r.routes.wanted); err != nil {
		return err
	}
	r.judge(l)
	if err := r.guess(l+1, env[c.frame.stream]); err != nil {
		return err
	}
	if p := c.phases[passes.SidePhase]; p != nil {
		if err := r.chunks(c, env, func(part map[string]lower.Buffer) error { return r.call(p, lw.of(p), part) }); err != nil {
			return err
		}
	}
	x, y := env[op.Args[0].Name], env[op.Name]
	call := &lower.Call{In: []lower.Buffer{x, {}, {}, y}, Out: []lower.Buffer{y}}
	clear(y.Bytes())
	_, records := r.m.records(l)
	for {
		g, more, err := r.pass.Next(r.ctx)
		if err != nil || !more {
			if err != nil {
				return err
			}
			break
		}
		taken := time.Now()
		r.group, r.members = r.group[:0], r.members[:0]
		for e := g.First; e < g.First+g.Count; e++ {
			if rows, w := r.routes.of(e); len(rows) > 0 {
				r.group = append(r.group, r.expert(g, e, records[e].Factors, c, rows, w))
				r.members = append(r.members, e)
			}
		}
		call.Group = r.group
		err = r.program(c.callee, call)
		r.release(g, taken)
		if err != nil {
			return r.blameExpert(err)
		}
	}
	if p := c.phases[passes.TailPhase]; p != nil {
		return r.chunks(c, env, func(part map[string]lower.Buffer) error { return r.call(p, lw.of(p), part) })
	}
	return nil
}

func (r *run) expert(g pager.Group, e int, factors []float32, c *class, rows []int32, w []float32) lower.Expert {
	record := lower.Buffer{Mem: r.memory(g.Pin), Off: g.Off + int64(e-g.First)*g.Stride, Len: c.expert.Len}
	return lower.Expert{Record: record, Factors: factors, Rows: rows, W: w}
}

// blame names the token of the batch that an error of a program blames a row for,
// or else what the program ran over, which began at row from.
func blame(err error, from int, otherwise string) error {
	var row *lower.RowError
	if errors.As(err, &row) {
		return fmt.Errorf("token %d: %w", from+row.Row, err)
	}
	return fmt.Errorf("%s: %w", otherwise, err)
}

// blameExpert names the expert, and the token where a row is to blame.
func (r *run) blameExpert(err error) error {
	what := fmt.Sprintf("experts %v", r.members)
	var expert *lower.ExpertError
	if errors.As(err, &expert) && expert.Index < len(r.members) {
		what = fmt.Sprintf("expert %d", r.members[expert.Index])
	}
	return fmt.Errorf("%s: %w", what, blame(err, 0, "all rows"))
}
