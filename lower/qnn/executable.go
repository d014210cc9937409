package qnn

import (
	"context"
	"errors"
	"fmt"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/native"
)

// An executable is one graph in the device's context.
type executable struct {
	device  *Device
	room    *room
	graph   *ir.Graph
	low     *lowered
	call    *native.Call
	ready   lower.Mem // for what the host makes ready
	ins     []port    // of the library's graph, as are
	outs    []port
	in, out [][]byte // of a run
	open    bool
}

// executable makes runnable what g became, of which the room counts it.
func (d *Device) executable(g *ir.Graph, low *lowered, made *native.Graph, in *room) (*executable, error) {
	e := &executable{device: d, room: in, graph: g, low: low, open: true}
	var err error
	if e.call, err = made.NewCall(); err != nil {
		return e, err
	}
	need := int64(0)
	for i, b := range low.in {
		if b.made() {
			low.in[i].place = need
			need += lower.RoundUp(b.bytes, lower.Align)
		}
	}
	e.ins, e.outs = portsOf(low.desc.Inputs()), portsOf(low.desc.Outputs())
	e.in, e.out = make([][]byte, len(low.in)), make([][]byte, len(low.out))
	e.ready, err = d.Alloc(need, lower.Align)
	return e, err
}

// Run implements static.Executable.
func (e *executable) Run(ctx context.Context, in, weights, out []lower.Buffer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.bindAll(in, weights, out); err != nil {
		return fmt.Errorf("%s: graph %s: %w", e.device.name, e.graph.Name, err)
	}
	tell(ctx, Step{Device: e.device.name, Doing: Running, Graph: e.graph.Name})
	if err := e.device.thread.do(func() error { return e.call.Execute(e.in, e.out) }); err != nil {
		return fmt.Errorf("%s: graph %s: %w", e.device.name, e.graph.Name, err)
	}
	return nil
}

// bindAll sets e.in and e.out to the buffers of a run.
func (e *executable) bindAll(in, weights, out []lower.Buffer) error {
	ins, ws := e.graph.Inputs(), e.graph.Weights()
	if len(in) != len(ins) || len(weights) != len(ws) || len(out) != len(e.graph.Outputs) {
		return fmt.Errorf("%d inputs, %d weights, %d outputs, want %d, %d, %d", len(in), len(weights), len(out), len(ins), len(ws), len(e.graph.Outputs))
	}
	for i := range e.low.in {
		b := &e.low.in[i]
		v, given := ws, weights
		if !b.weight {
			v, given = ins, in
		}
		bytes, err := e.device.bytes(v[b.i], given[b.i])
		if err == nil {
			bytes, err = b.bind(bytes, given[b.i].Factor, e.ready.Bytes())
		}
		if err == nil {
			m, off := given[b.i].Mem, given[b.i].Off+b.off
			if b.made() {
				m, off = e.ready, b.place
			}
			e.in[i], err = e.stand(&e.ins[i], bytes, m.(*mem), off)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	for i, o := range e.low.out {
		bytes, err := e.device.bytes(e.graph.Outputs[o], out[o])
		if err == nil && int64(len(bytes)) < lower.Size(out[o].Type) {
			err = fmt.Errorf("%d bytes, want %d for %s", len(bytes), lower.Size(out[o].Type), out[o].Type)
		}
		if err == nil {
			e.out[i], err = e.stand(&e.outs[i], bytes[:lower.Size(out[o].Type)], out[o].Mem.(*mem), out[o].Off)
		}
		if err != nil {
			return fmt.Errorf("output %d: %w", o, err)
		}
	}
	return nil
}

// bytes returns what a buffer's memory and offset stand for.
func (d *Device) bytes(v *ir.Value, b lower.Buffer) ([]byte, error) {
	m, ok := b.Mem.(*mem)
	switch {
	case !ok || m.device != d:
		return nil, fmt.Errorf("memory %T is not this device's", b.Mem)
	case m.free == nil:
		return nil, fmt.Errorf("its memory is freed")
	case !b.Type.Equal(v.Type):
		return nil, fmt.Errorf("type is %s, want %s", b.Type, v.Type)
	case b.Off < 0 || b.Off%lower.Align != 0 || b.Len < 0 || b.Off > int64(len(m.bytes)) || b.Len > int64(len(m.bytes))-b.Off:
		return nil, fmt.Errorf("bytes %d to %d of %d, want a multiple of %d within them", b.Off, b.Off+b.Len, len(m.bytes), lower.Align)
	}
	return m.bytes[b.Off : b.Off+b.Len], nil
}

// Close implements static.Executable.
func (e *executable) Close() error {
	if !e.open {
		return errors.New("a graph is closed twice")
	}
	e.open = false
	var errs []error
	if e.call != nil {
		errs = append(errs, e.call.Close())
	}
	if e.ready != nil {
		errs = append(errs, e.ready.Free())
	}
	return errors.Join(append(errs, e.device.release(e.room))...)
}
