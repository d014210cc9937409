package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/lower/host"
	"estream/lower/host/kernel"
	"estream/runtime"
)

// A Backend is one that --backend names.
type Backend struct {
	Name string
	Doc  string // one line

	// New returns the backend. It is given the host's, with the threads and
	// operators of the command. A runtime.Device that it returns runs beside the
	// host, any other backend in its place.
	New func(host lower.Backend) lower.Backend

	// Needs tells what the backend runs on that is no part of the program, or what
	// is missing and the remedy; nil: nothing is needed. New gives a backend even so.
	Needs func() (string, error)
}

// use makes b what o runs packages on.
func (b Backend) use(o *runtime.Options, host lower.Backend) {
	x := b.New(host)
	if d, ok := x.(runtime.Device); ok {
		o.Host, o.Device = host, d
		return
	}
	o.Host = x
}

// choice are the backends that --backend may name.
func (a *App) choice() []Backend {
	itself := func(host lower.Backend) lower.Backend { return host }
	return append([]Backend{{Name: "host", Doc: "the processor that estream runs on", New: itself}}, a.Backends...)
}

func (a *App) backendNames() []string {
	var names []string
	for _, b := range a.choice() {
		names = append(names, b.Name)
	}
	return names
}

// choose returns the backend of a name, which can be made.
func (a *App) choose(name string) (Backend, error) {
	for _, b := range a.choice() {
		if b.Name != name {
			continue
		}
		if b.New(a.host()) == nil {
			return b, fmt.Errorf("backend %q: its New returns nil", name)
		}
		return b, nil
	}
	return Backend{}, usagef("unknown backend %q: use one of %s", name, strings.Join(a.backendNames(), ", "))
}

// backend returns the backend of a name, to be asked, not to run on.
func (a *App) backend(name string) (lower.Backend, error) {
	b, err := a.choose(name)
	if err != nil {
		return nil, err
	}
	return b.New(a.host()), nil
}

// host is the host's backend, to be asked, not to run on: it needs no kernels, so
// that ESTREAM_CPU does not matter.
func (a *App) host() lower.Backend {
	return host.New(host.Options{Kernels: &kernel.Set{}, Ops: a.HostOps})
}

// packing is what packages for the backend of a name have.
func (a *App) packing(name string) (lower.Packing, error) {
	b, err := a.backend(name)
	if err != nil {
		return lower.Packing{}, err
	}
	for _, p := range b.Packings() {
		return p, nil
	}
	return lower.Packing{}, fmt.Errorf("backend %q has no packing: no package can be written for it", name)
}

// look opens a package to be shown or verified, not run.
func (a *App) look(ctx context.Context, dir string) (*runtime.Model, error) {
	ops, err := ir.Core(a.Ops...)
	if err != nil {
		return nil, err
	}
	return runtime.Open(ctx, dir, runtime.Options{Host: a.host(), Ops: ops, Packings: a.foreign()})
}

// packings are those that packages may have, the host's first.
func (a *App) packings() []lower.Packing {
	return append(a.host().Packings(), a.foreign()...)
}

// foreign are packings that are not the host's.
func (a *App) foreign() (foreign []lower.Packing) {
	h := a.host()
	known := h.Packings()
	for _, b := range a.Backends {
		x := b.New(h)
		if x == nil {
			continue // which choose tells of
		}
		for _, p := range x.Packings() {
			if !slices.ContainsFunc(known, func(k lower.Packing) bool { return k.Name == p.Name }) {
				known, foreign = append(known, p), append(foreign, p)
			}
		}
	}
	return foreign
}
