// Package native is QNN's C API, without cgo: graphs are described as plain data
// (Desc), built in a context of a backend, run with memory that the caller binds
// at each execution, and serialised.
//
// The libraries check little of what they are given: a short buffer is written
// past its end, and a few graphs crash the process. So this package checks before
// each call, and Child prepares graphs in a process of its own.
//
// Invariants:
//
//	N1 every address that C is given is of pinned memory: for one function until it returns, for Build until it has finalized, for a Call until it closes
//	N2 a bound buffer has exactly the bytes of its tensor, and C has its address during Execute alone
//	N3 a library that computes wrong numbers when two threads call it is called by one at a time
//	N4 no call is made of a Context, a Graph or a Backend that has been closed
//
// Memory: contexts and what stands in them are the library's, freed by Close, in
// the order Call, Context, Backend. A library stays loaded until the process
// ends. Two versions of one library must not be loaded in one process.
package native

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// A Library is a loaded backend library, such as libQnnCpu.so or libQnnHtp.so.
// Open a library once in a process: its calls take turns where they must.
type Library struct {
	path  string
	table *cInterface
	turns turns
}

// coreAPI is the oldest core API whose layouts this package knows, that of QAIRT 2.43;
// later ones of the same major version add to them.
var coreAPI = Version{Major: 2, Minor: 32}

// Open loads the backend library at path and checks its core API.
func Open(path string) (*Library, error) {
	get, err := load(path, "QnnInterface_getProviders")
	if err != nil {
		return nil, err
	}
	found, err := providers[cInterface](path, get)
	if err != nil {
		return nil, err
	}
	return libraryOf(path, found)
}

// libraryOf returns the library of the first interface whose layouts are known.
func libraryOf(path string, found []*cInterface) (*Library, error) {
	for _, p := range found {
		if p.core.serves(coreAPI) {
			return &Library{path: path, table: p, turns: turns{needed: p.takesTurns()}}, nil
		}
	}
	return nil, fmt.Errorf("%s: core API %v, want %v or a later minor version: install QAIRT 2.43 or a later 2.x, as with tools/qnn-libs", path, found[0].core, coreAPI)
}

// providers returns the interfaces that a library's get function lists, at least one.
func providers[T any](path string, get symbol) ([]*T, error) {
	list, n := new(**T), new(uint32)
	if err := failure("getProviders", path, invoke(get, uintptr(unsafe.Pointer(list)), uintptr(unsafe.Pointer(n)))); err != nil {
		return nil, err
	}
	if *list == nil || *n == 0 {
		return nil, errors.New(path + " provides no interface")
	}
	return unsafe.Slice(*list, *n), nil
}

// serves reports whether a caller that needs version want, zero being any, can use v.
func (v Version) serves(want Version) bool {
	return want == Version{} || v.Major == want.Major && v.Minor >= want.Minor
}

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Provider returns what the library calls itself, such as HTP_QTI_AISW.
func (l *Library) Provider() string { return goString(l.table.name) }

// Core returns the version of the core API.
func (l *Library) Core() Version { return l.table.core }

// Version returns the version of the backend's own API.
func (l *Library) Version() Version { return l.table.version }

// BuildID returns the SDK build, such as v2.47.0.260601114230.
func (l *Library) BuildID() (string, error) {
	id := new(*byte)
	err := l.call(backendGetBuildID, l.path, uintptr(unsafe.Pointer(id)))
	return goString(*id), err
}

// call makes one call of the C API, about what `of` names.
//
//go:uintptrescapes
func (l *Library) call(f function, of string, args ...uintptr) error {
	l.turns.begin()
	defer l.turns.end()
	return l.failure(f, of, invoke(symbol(l.table.fn[f]), args...))
}

// takesTurns reports whether the library is HTP's emulation of QAIRT before 2.51:
// graphs that two threads execute there interfere, and may never return.
func (c *cInterface) takesTurns() bool {
	const htp = 6
	return runtime.GOARCH == "amd64" && c.backend == htp && !c.core.serves(Version{Major: 2, Minor: 40})
}

// turns is a lock that may not be needed.
type turns struct {
	needed bool
	lock   sync.Mutex
}

func (t *turns) begin() {
	if t.needed {
		t.lock.Lock()
	}
}

func (t *turns) end() {
	if t.needed {
		t.lock.Unlock()
	}
}
