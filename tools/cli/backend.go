package cli

import (
	"slices"
	"strings"

	"estream/lower"
	"estream/lower/host"
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
	return append([]Backend{{"host", "the processor that estream runs on", itself}}, a.Backends...)
}

func (a *App) backendNames() []string {
	var names []string
	for _, b := range a.choice() {
		names = append(names, b.Name)
	}
	return names
}

// choose returns the backend of a name.
func (a *App) choose(name string) (Backend, error) {
	for _, b := range a.choice() {
		if b.Name == name {
			return b, nil
		}
	}
	return Backend{}, usagef("unknown backend %q: use one of %s", name, strings.Join(a.backendNames(), ", "))
}

// backend returns the backend of a name, to be asked, not to run on.
func (a *App) backend(name string) (lower.Backend, error) {
	b, err := a.choose(name)
	if err != nil {
		return nil, err
	}
	return b.New(host.New(host.Options{Ops: a.HostOps})), nil
}

// packings are those that packages may have, the host's first.
func (a *App) packings() []lower.Packing {
	return append(host.New(host.Options{}).Packings(), a.foreign()...)
}

// foreign are packings that are not the host's.
func (a *App) foreign() (foreign []lower.Packing) {
	h := host.New(host.Options{Ops: a.HostOps})
	for _, b := range a.Backends {
		for _, p := range b.New(h).Packings() {
			if !slices.ContainsFunc(h.Packings(), func(own lower.Packing) bool { return own.Name == p.Name }) {
				foreign = append(foreign, p)
			}
		}
	}
	return foreign
}
