package runtime

import (
	"fmt"
	"time"

	"estream/ir"
	"estream/lower"
)

// head computes the logits of the rows asked for, a chunk of rows at a time;
// the head's records come once for each chunk.
func (r *run) head(b Batch, positions []int32, res *Result) error {
	m := r.m
	if b.Each == nil && len(positions) > 0 {
		res.Logits = make([]float32, len(positions)*m.vocab)
	}
	last := len(m.layers)
	for from := 0; from < len(positions); from += r.plan.Head {
		rows := positions[from:min(from+r.plan.Head, len(positions))]
		logits, err := r.logits(rows, res.Logits, from, last)
		if err != nil {
			return err
		}
		if err := finite(logits, m.vocab, rows); err != nil {
			return err
		}
		if b.Each == nil {
			continue
		}
		for i := range rows {
			if err := b.Each(from+i, logits[i*m.vocab:(i+1)*m.vocab]); err != nil {
				return err
			}
		}
	}
	return nil
}

// logits returns the logits of rows: in their place of all, or in memory of the run.
func (r *run) logits(rows []int32, all []float32, from, last int) ([]float32, error) {
	m, n := r.m, len(rows)
	if all == nil {
		mem, err := m.mem.get(m.host, "logits", int64(r.plan.Head)*int64(m.vocab)*4, lower.Align)
		if err != nil {
			return nil, err
		}
		all = lower.F32(mem.Bytes())
	} else {
		all = all[from*m.vocab:]
	}
	env, err := r.normed(rows, last)
	if err != nil {
		return nil, err
	}
	for i, run := range m.headers.runs {
		cols := run.columns
		part, err := r.headRun(env, n, run)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		for j := range n {
			copy(all[j*m.vocab+i*m.headers.columns:], part[j*cols:(j+1)*cols])
		}
	}
	return all[:n*m.vocab], nil
}

// normed gathers rows of the residual stream and runs head.norm on them.
func (r *run) normed(rows []int32, last int) (map[string]lower.Buffer, error) {
	m := r.m
	t := ir.Tensor(ir.F32, ir.N(len(rows)), ir.N(m.hidden))
	in, err := m.mem.get(m.host, "head in", int64(r.plan.Head)*int64(m.hidden)*4, lower.Align)
	if err != nil {
		return nil, err
	}
	out, err := m.mem.get(m.host, "head normed", int64(r.plan.Head)*m.normBytes(), lower.Align)
	if err != nil {
		return nil, err
	}
	env := map[string]lower.Buffer{"x": {Mem: in, Len: lower.Size(t), Type: t}}
	size, x, picked := 4*m.hidden, r.x.Bytes(), in.Bytes()
	for i, row := range rows {
		copy(picked[i*size:][:size], x[int(row)*size:])
	}
	off := int64(0)
	for _, v := range m.norm.graph.Outputs {
		t, err := lower.Dims{"L": len(rows)}.Bind(v.Type)
		if err != nil {
			return nil, err
		}
		env[v.Name] = lower.Buffer{Mem: out, Off: off, Len: lower.Size(t), Type: t}
		off += lower.RoundUp(lower.Size(t), lower.Align)
	}
	span, err := r.pass.Dense(r.ctx)
	if err != nil {
		return nil, err
	}
	defer r.releaseDense(span, time.Now())
	dense, _ := m.records(last)
	if err := r.call(m.norm, m.norm.bound(r.memory(span.Pin), span.Off, dense[0].Factors), env); err != nil {
		return nil, err
	}
	r.tap(last, env)
	return env, nil
}

// headRun multiplies by one run of the head's panels.
func (r *run) headRun(env map[string]lower.Buffer, n int, run headRun) ([]float32, error) {
	m := r.m
	mem, err := m.mem.get(m.host, "head out", int64(r.plan.Head)*int64(m.headers.columns)*4, lower.Align)
	if err != nil {
		return nil, err
	}
	span, err := r.pass.Dense(r.ctx)
	if err != nil {
		return nil, err
	}
	defer r.releaseDense(span, time.Now())
	t := ir.Tensor(ir.F32, ir.N(n), ir.N(run.columns))
	out := map[string]lower.Buffer{m.proj.graph.Outputs[0].Name: {Mem: mem, Len: lower.Size(t), Type: t}}
	if err := r.call(m.proj, run.bound(r.memory(span.Pin), span.Off), out, env); err != nil {
		return nil, err
	}
	return lower.F32(out[m.proj.graph.Outputs[0].Name].Bytes()), nil
}

// finite refuses logits that are no numbers: weights too large for the model's
// arithmetic, or none of a trained model.
func finite(logits []float32, vocab int, rows []int32) error {
	for i, x := range logits {
		if x-x != 0 {
			return fmt.Errorf("token %d: logit %d is %v: the weights are too large, or not those of this model", rows[i/vocab], i%vocab, x)
		}
	}
	return nil
}
