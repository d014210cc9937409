package native

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Options are how a backend is started.
type Options struct {
	SoC int // model number of the chip that HTP prepares for; 0: the library's default, with no device
	Log int // most verbose level that the library prints: 1 error (also if 0), 2 warning, 3 info, as HTP's compiler gives its figures, 4 verbose, 5 debug
}

// A Backend is a started library: its log, backend and device. Its methods are
// safe for concurrent use, Close apart.
type Backend struct {
	*Library
	log, handle, device uintptr
	validate            func(uintptr, cOp) uint64
	addNode             func(uintptr, cOp) uint64
	at                  func(call, of string) // told before each call that prepares; nil: nobody
	contexts            atomic.Int64          // that are open
	maps                atomic.Bool           // whether the library knows no registered memory
}

// Start starts the library.
func (l *Library) Start(o Options) (*Backend, error) {
	b := &Backend{Library: l, at: func(string, string) {}}
	b.validate = withOp(symbol(l.table.fn[backendValidateOpConfig]))
	b.addNode = withOp(symbol(l.table.fn[graphAddNode]))
	err := l.call(logCreate, l.path, 0, uintptr(max(o.Log, 1)), uintptr(unsafe.Pointer(&b.log)))
	if err == nil {
		err = l.call(backendCreate, l.path, b.log, 0, uintptr(unsafe.Pointer(&b.handle)))
	}
	if err == nil && o.SoC != 0 {
		err = b.openDevice(o.SoC)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Backend) openDevice(soc int) error {
	var h hold
	defer h.Unpin()
	custom := pin(&h, []cHTPDevice{{old: uint32(soc), soc: uint32(soc)}})
	return b.call(deviceCreate, fmt.Sprintf("%s, SoC %d", b.path, soc), b.log,
		configs(&h, unsafe.Pointer(custom)), uintptr(unsafe.Pointer(&b.device)))
}

// configs returns the array of configs that C takes for the backend's own structs,
// 0 if there are none. The hold keeps it.
func configs(h *hold, custom ...unsafe.Pointer) uintptr {
	if len(custom) == 0 {
		return 0
	}
	list := make([]*cConfig, len(custom)+1)
	for i, c := range custom {
		list[i] = pin(h, []cConfig{{custom: c}})
	}
	return uintptr(unsafe.Pointer(pin(h, list)))
}

// Close frees the backend, whose contexts must have been closed. A second Close
// does nothing.
func (b *Backend) Close() error {
	if n := b.contexts.Load(); n > 0 {
		return fmt.Errorf("%s: %d contexts are open: close them first", b.path, n)
	}
	var errs []error
	for _, s := range []struct {
		free   function
		handle *uintptr
	}{{deviceFree, &b.device}, {backendFree, &b.handle}, {logFree, &b.log}} {
		if *s.handle != 0 {
			errs = append(errs, b.call(s.free, b.path, *s.handle))
		}
		*s.handle = 0
	}
	return errors.Join(errs...)
}

func (b *Backend) open() error {
	if b.handle == 0 {
		return errors.New(b.path + ": the backend is closed")
	}
	return nil
}

// Operations returns the names of the operators that the library lists.
func (b *Backend) Operations() ([]string, error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	n, list := new(uint32), new(*cOpName)
	if err := b.call(backendGetSupportedOperations, b.path, b.handle, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(list))); err != nil {
		return nil, err
	}
	var names []string
	for _, op := range unsafe.Slice(*list, *n) {
		names = append(names, goString(op.name))
	}
	return names, nil
}

// Validate checks d and asks the library of each of its nodes, unless it is too old
// for one. No graph is made.
func (b *Backend) Validate(d *Desc) error {
	if err := errors.Join(b.open(), d.Check(), b.tooOld(d)); err != nil {
		return err
	}
	var h hold
	defer h.Unpin()
	tensors := map[string]cTensor{}
	for i := range d.Tensors {
		tensors[d.Tensors[i].Name] = h.tensor(&d.Tensors[i], uint32(i+1))
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		params := make([]cParam, len(n.Params))
		for j := range n.Params {
			params[j] = h.param(n, &n.Params[j])
		}
		op := h.op(n, pick(tensors, n.In), pick(tensors, n.Out), params)
		if err := b.callOp(backendValidateOpConfig, b.validate, b.handle, d.Name, n, op); err != nil {
			return err
		}
	}
	return nil
}

func (b *Backend) tooOld(d *Desc) error {
	for _, n := range d.Nodes {
		if !b.Core().serves(n.Since) {
			return fmt.Errorf("graph %s: node %s (%s): it needs core API %v or a later minor version, and %s has %v: install a later QAIRT, as with tools/qnn-libs (--help lists which)", d.Name, n.Name, n.Op, n.Since, b.path, b.Core())
		}
	}
	return nil
}
