package native

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Check reports what in d no library must be given: names that are missing, come
// twice or hold a zero byte, unknown types, extents and data of the wrong size,
// tensors that are used before they are written, written twice or never.
func (d *Desc) Check() error {
	if err := checkName(d.Name); err != nil {
		return fmt.Errorf("graph %q: %w", d.Name, err)
	}
	if len(d.Nodes) == 0 {
		return fmt.Errorf("graph %s: it has no nodes", d.Name)
	}
	tensors := map[string]*written{}
	for i := range d.Tensors {
		t := &d.Tensors[i]
		err := t.check()
		if err == nil && tensors[t.Name] != nil {
			err = errors.New("a tensor before it has that name")
		}
		if err != nil {
			return fmt.Errorf("graph %s: tensor %q: %w", d.Name, t.Name, err)
		}
		tensors[t.Name] = &written{t, t.Kind == AppWrite || t.Kind == Static}
	}
	names := map[string]bool{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		err := n.check(tensors)
		if err == nil && names[n.Name] {
			err = errors.New("a node before it has that name")
		}
		if err != nil {
			return fmt.Errorf("graph %s: node %q (%s): %w", d.Name, n.Name, n.Op, err)
		}
		names[n.Name] = true
	}
	for _, t := range d.Tensors {
		if !tensors[t.Name].ready {
			return fmt.Errorf("graph %s: tensor %q: no node writes it", d.Name, t.Name)
		}
	}
	return nil
}

// written is a tensor, and whether a node may read it already.
type written struct {
	*Tensor
	ready bool
}

func checkName(s string) error {
	if s == "" || strings.ContainsRune(s, 0) {
		return errors.New("want a name without zero bytes")
	}
	return nil
}

func (t *Tensor) check() error {
	if err := checkName(t.Name); err != nil {
		return err
	}
	if !slices.Contains([]Kind{AppWrite, AppRead, Native, Static}, t.Kind) {
		return fmt.Errorf("a tensor of a graph cannot be of %s", t.Kind)
	}
	if err := checkExtents(t.Type, t.Dims); err != nil {
		return err
	}
	want := 0
	if t.Kind == Static {
		want = t.Bytes()
	}
	if len(t.Data) != want {
		return fmt.Errorf("%d bytes of data for %s %s%v, want %d", len(t.Data), t.Kind, t.Type, t.Dims, want)
	}
	return t.Quant.check(t.Type, t.Dims)
}

// checkExtents reports dims that C cannot be given for elements of type d.
func checkExtents(d DType, dims []int) error {
	if d.Size() == 0 {
		return fmt.Errorf("unknown type %s", d)
	}
	if len(dims) == 0 {
		return errors.New("it has no dimensions: give a scalar one of 1")
	}
	bytes := int64(d.Size())
	for _, n := range dims {
		if n < 1 || bytes > math.MaxUint32/int64(n) {
			return fmt.Errorf("%s%v: want extents of at least 1 and less than 4 GiB in all", d, dims)
		}
		bytes *= int64(n)
	}
	return nil
}

func (q *Quant) check(d DType, dims []int) error {
	quantized := q.Scale != 0 || len(q.Scales) > 0
	switch {
	case quantized != d.Fixed():
		return fmt.Errorf("%s has a scale: %t", d, quantized)
	case !quantized:
		return nil
	case q.Scale != 0 && len(q.Scales) > 0:
		return errors.New("it has both a scale and scales of an axis")
	case q.Bits < 0 || q.Bits > 8*d.Size():
		return fmt.Errorf("%s cannot hold %d bits", d, q.Bits)
	case q.Offsets != nil && len(q.Offsets) != len(q.Scales):
		return fmt.Errorf("%d offsets for %d scales", len(q.Offsets), len(q.Scales))
	case len(q.Scales) > 0 && (q.Axis < 0 || q.Axis >= len(dims) || dims[q.Axis] != len(q.Scales)):
		return fmt.Errorf("%d scales for axis %d of %v", len(q.Scales), q.Axis, dims)
	case len(q.BlockScales) > 0 && (len(q.Scales) == 0 || len(q.BlockScales)%len(q.Scales) != 0 || elements(dims)%len(q.BlockScales) != 0):
		return fmt.Errorf("%d scales of blocks for %d scales and %d elements", len(q.BlockScales), len(q.Scales), elements(dims))
	}
	for _, s := range append([]float32{q.Scale}, q.Scales...) {
		if s < 0 || math.IsNaN(float64(s)) || math.IsInf(float64(s), 0) {
			return fmt.Errorf("a scale of %v", s)
		}
	}
	return nil
}

func (n *Node) check(tensors map[string]*written) error {
	if err := errors.Join(checkName(n.Name), checkName(n.Op)); err != nil {
		return err
	}
	for i := range n.Params {
		if err := n.Params[i].check(); err != nil {
			return fmt.Errorf("parameter %q: %w", n.Params[i].Name, err)
		}
	}
	for _, name := range n.In {
		if t := tensors[name]; t == nil || !t.ready {
			return fmt.Errorf("input %q is no tensor that has been written", name)
		}
	}
	if len(n.Out) == 0 {
		return errors.New("it has no outputs")
	}
	for _, name := range n.Out {
		t := tensors[name]
		if t == nil || t.ready {
			return fmt.Errorf("output %q is no tensor that is still to be written", name)
		}
		t.ready = true
	}
	return nil
}

func (p *Param) check() error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	dims := p.Dims
	if dims == nil {
		dims = []int{1}
	}
	if err := checkExtents(p.Type, dims); err != nil {
		return err
	}
	if want := elements(dims) * p.Type.Size(); len(p.Data) != want {
		return fmt.Errorf("%d bytes of data for %s%v, want %d", len(p.Data), p.Type, p.Dims, want)
	}
	return nil
}

// check reports a signature that cannot be executed.
func (s *Signature) check() error {
	if err := checkName(s.Graph); err != nil {
		return fmt.Errorf("graph %q: %w", s.Graph, err)
	}
	for kind, ports := range map[Kind][]Port{AppWrite: s.In, AppRead: s.Out} {
		for i := range ports {
			err := ports[i].check()
			if err == nil && ports[i].Kind != kind {
				err = fmt.Errorf("a port of kind %s, want %s", ports[i].Kind, kind)
			}
			if err != nil {
				return fmt.Errorf("graph %s: tensor %q: %w", s.Graph, ports[i].Name, err)
			}
		}
	}
	return nil
}
