package lowertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"estream/ir"
	"estream/ir/interp"
	"estream/lower"
	"estream/lower/static"
)

// NPU is a device with the habits of a phone's accelerator, made for
// static.New. It runs graphs of fixed extents alone, gets at memory by its own
// handles, wants buffers of exact sizes at multiples of 128 bytes, has its own
// packing, and leaves NaN in the inputs it has read. It computes with ir/interp.
//
// An NPU owns the memories it allocates until they are freed.
type NPU struct {
	mu     sync.Mutex
	memory map[int][]byte // by handle
	last   int
	runs   int
}

// NewNPU returns a device without any memory.
func NewNPU() *NPU { return &NPU{memory: map[int][]byte{}} }

// Name implements static.Device.
func (d *NPU) Name() string { return "npu" }

// Packings implements static.Device.
func (d *NPU) Packings() []lower.Packing {
	return []lower.Packing{{Name: "npu.kn", Size: npuSize, Pack: npuPack, Unpack: npuUnpack}}
}

// Supports implements static.Device. Rows that are chosen at run time and states
// are not for it, nor are quantized activations and weights with codes of -8.
func (d *NPU) Supports(v *ir.Value) error {
	refuse := func(why string) error {
		var types []ir.Type
		for _, a := range v.Args {
			types = append(types, a.Type)
		}
		return fmt.Errorf("npu: %s of %v: %s: %w", v.Op, types, why, lower.ErrUnsupported)
	}
	if !slices.Contains(d.Ops(), v.Op) {
		return refuse("no such operator")
	}
	for i, a := range v.Args {
		switch {
		case a.Type.DType.Activation() || a.Type.DType.Full() || a.Type.DType == ir.State:
			return refuse("operand type")
		case a.Type.DType.Encoded() && (v.Op != ir.MatMul || i != 1):
			return refuse("an encoding is read by matmul alone")
		case a.Type.DType == ir.I32 && v.Op != ir.RoPE:
			return refuse("whole numbers are positions alone")
		}
	}
	return nil
}

// Ops lists the operators of which there are some that the device takes.
func (d *NPU) Ops() []*ir.Op {
	return []*ir.Op{ir.MatMul, ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Affine, ir.Sum, ir.SiLU, ir.Sigmoid, ir.Clamp, ir.Softmax,
		ir.RMSNorm, ir.Reshape, ir.Slice, ir.Concat, ir.RoPE, ir.ScaleRows, ir.AttentionMasked, ir.ConvPast}
}

// Compile implements static.Device.
func (d *NPU) Compile(_ context.Context, g *ir.Graph, p lower.Packing) (static.Executable, error) {
	if p.Name != d.Packings()[0].Name {
		return nil, fmt.Errorf("npu: graph %s: packing %s: want npu.kn: %w", g.Name, p.Name, lower.ErrUnsupported)
	}
	if err := g.Verify(); err != nil {
		return nil, fmt.Errorf("npu: %w", err)
	}
	for _, v := range g.Values {
		if slices.ContainsFunc(v.Type.Dims, func(e ir.Dim) bool { return e.Sym != "" }) {
			return nil, fmt.Errorf("npu: graph %s: %s: %s has an extent that is no number: %w", g.Name, v, v.Type, lower.ErrUnsupported)
		}
		if v.Op == ir.Input || v.Op == ir.Weight {
			continue
		}
		if err := d.Supports(v); err != nil {
			return nil, fmt.Errorf("npu: graph %s: %w", g.Name, err)
		}
	}
	return &npuGraph{d, g, p}, nil
}

// Alloc implements static.Device.
func (d *NPU) Alloc(bytes, align int64) (lower.Mem, error) {
	if bytes < 0 || bytes > 1<<32 || align < 1 || align > 1<<24 || align&(align-1) != 0 {
		return nil, fmt.Errorf("npu: cannot allocate %d bytes at a multiple of %d", bytes, align)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	d.memory[d.last] = aligned(bytes, max(align, npuAlign))
	return npuMem{d, d.last}, nil
}

// Live returns how many memories are not freed.
func (d *NPU) Live() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.memory)
}

// Runs returns how many graphs the device has run.
func (d *NPU) Runs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs
}

// An npuMem is a handle: the device's table says which bytes it stands for.
type npuMem struct {
	npu    *NPU
	handle int
}

// Bytes implements lower.Mem.
func (m npuMem) Bytes() []byte {
	m.npu.mu.Lock()
	defer m.npu.mu.Unlock()
	return m.npu.memory[m.handle]
}

// Free implements lower.Mem.
func (m npuMem) Free() error {
	m.npu.mu.Lock()
	defer m.npu.mu.Unlock()
	if m.npu.memory[m.handle] == nil {
		return fmt.Errorf("npu: memory %d is freed twice", m.handle)
	}
	delete(m.npu.memory, m.handle)
	return nil
}

// npuAlign is what inputs and outputs start at a multiple of, in bytes.
const npuAlign = 128

// An npuGraph is one graph of an NPU.
type npuGraph struct {
	npu     *NPU
	graph   *ir.Graph
	packing lower.Packing
}

// Run implements static.Executable.
func (e *npuGraph) Run(_ context.Context, in, weights, out []lower.Buffer) error {
	g, tensors := e.graph, map[string]*interp.Tensor{}
	ins, ws := g.Inputs(), g.Weights()
	if len(in) != len(ins) || len(weights) != len(ws) || len(out) != len(g.Outputs) {
		return fmt.Errorf("npu: graph %s: %d inputs, %d weights, %d outputs, want %d, %d, %d", g.Name, len(in), len(weights), len(out), len(ins), len(ws), len(g.Outputs))
	}
	var used [][]byte
	for i, v := range ins {
		b, err := e.bytes(v, in[i], lower.Size(v.Type), npuAlign)
		if err != nil {
			return err
		}
		if i := bytes.Index(b, []byte(unwritten)); i >= 0 {
			return fmt.Errorf("npu: graph %s: %s:%s: bytes at %d of %d were not written since the last run", g.Name, v, v.Name, i, len(b))
		}
		used = append(used, b)
		tensors[v.Name] = load(hostBuffer(b, v.Type))
	}
	for i, w := range ws {
		size, err := weightSize(g, w, e.packing)
		if err != nil {
			return err
		}
		b, err := e.bytes(w, weights[i], size, lower.Align)
		if err != nil {
			return err
		}
		if tensors[w.Name], err = loadWeight(b, g, w, weights[i].Factor, e.packing); err != nil {
			return err
		}
	}
	results, err := interp.Eval(nil, g, tensors, interp.Options{})
	if err != nil {
		return fmt.Errorf("npu: %w", err)
	}
	e.npu.mu.Lock()
	e.npu.runs++
	e.npu.mu.Unlock()
	for _, b := range used {
		poison(b)
	}
	for i, v := range g.Outputs {
		b, err := e.bytes(v, out[i], lower.Size(v.Type), npuAlign)
		if err != nil {
			return err
		}
		store(hostBuffer(b, v.Type), results[i])
	}
	return nil
}

// bytes returns what a buffer's handle and offset stand for.
func (e *npuGraph) bytes(v *ir.Value, b lower.Buffer, size, align int64) ([]byte, error) {
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("npu: graph %s: %s:%s: %s", e.graph.Name, v, v.Name, fmt.Sprintf(format, args...))
	}
	m, ok := b.Mem.(npuMem)
	if !ok || m.npu != e.npu {
		return fail("memory %T is not this device's", b.Mem)
	}
	e.npu.mu.Lock()
	defer e.npu.mu.Unlock()
	all, live := e.npu.memory[m.handle]
	switch {
	case !live:
		return fail("memory %d is freed", m.handle)
	case !b.Type.Equal(v.Type):
		return fail("type is %s, want %s", b.Type, v.Type)
	case b.Len != size:
		return fail("%d bytes, want %d for %s", b.Len, size, v.Type)
	case b.Off < 0 || b.Off%align != 0 || b.Len > int64(len(all))-b.Off:
		return fail("bytes %d to %d of %d, want a multiple of %d within them", b.Off, b.Off+b.Len, len(all), align)
	}
	return all[b.Off : b.Off+b.Len], nil
}

// Close implements static.Executable.
func (e *npuGraph) Close() error {
	if e.graph == nil {
		return errors.New("npu: a graph is closed twice")
	}
	e.graph = nil
	return nil
}

// poison fills memory with NaN.
func poison(b []byte) {
	for i := range b {
		b[i] = canary
	}
}

// unwritten is what poison leaves, longer than any number.
const unwritten = "\xff\xff\xff\xff\xff\xff\xff\xff"
