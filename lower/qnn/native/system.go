package native

import (
	"errors"
	"fmt"
	"unsafe"
)

// A System is the loaded library libQnnSystem.so, which reads context binaries
// without a backend. Its methods are safe for concurrent use.
type System struct {
	path  string
	table *cSystemInterface
}

// The functions of a System.
const (
	systemContextCreate      = "systemContextCreate"
	systemContextGetMetaData = "systemContextGetMetaData"
	systemContextFree        = "systemContextFree"
)

// systemFunctions are places in a System's table.
var systemFunctions = map[string]int{systemContextCreate: 0, systemContextGetMetaData: 2, systemContextFree: 3}

// systemAPI is the oldest API of the system library that has getMetaData.
var systemAPI = Version{Major: 1, Minor: 2}

// Metadata is what a context binary says of itself.
type Metadata struct {
	Backend int     // the number of the backend it is for: 6 is HTP
	BuildID string  // the SDK that made it
	Core    Version // of the core API
	API     Version // of the backend's API
	SoC     int     // model number of the chip it was made for, 0: none was named
	Bytes   int64   // of the backend's blob
	Graphs  []Signature
}

// OpenSystem loads the system library at path.
func OpenSystem(path string) (*System, error) {
	get, err := load(path, "QnnSystemInterface_getProviders")
	if err != nil {
		return nil, err
	}
	found, err := providers[cSystemInterface](path, get)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		if p.version.serves(systemAPI) {
			return &System{path, p}, nil
		}
	}
	return nil, fmt.Errorf("%s: system API %v, want %v or a later minor version: install another QAIRT, as with tools/qnn-libs", path, found[0].version, systemAPI)
}

// Version returns the version of the system library's API.
func (s *System) Version() Version { return s.table.version }

// Metadata reads the description of a context binary.
func (s *System) Metadata(binary []byte) (_ *Metadata, err error) {
	if len(binary) == 0 {
		return nil, errors.New("a context binary of no bytes")
	}
	context, info := new(uintptr), new(*cBinaryInfo)
	if err := s.call(systemContextCreate, uintptr(unsafe.Pointer(context))); err != nil {
		return nil, err
	}
	// info is the context's: all of it is copied before this.
	defer func() { err = errors.Join(err, s.call(systemContextFree, *context)) }()
	var h hold
	defer h.Unpin()
	if err := s.call(systemContextGetMetaData, *context,
		uintptr(unsafe.Pointer(pin(&h, binary))), uintptr(len(binary)), uintptr(unsafe.Pointer(info))); err != nil {
		return nil, err
	}
	if *info == nil {
		return nil, errors.New("a context binary without metadata")
	}
	return (*info).read()
}

//go:uintptrescapes
func (s *System) call(name string, args ...uintptr) error {
	return failure(name, s.path, invoke(symbol(s.table.fn[systemFunctions[name]]), args...))
}

func (b *cBinaryInfo) read() (*Metadata, error) {
	if b.version != 3 {
		return nil, fmt.Errorf("a context binary with metadata of version %d, want 3: make it with QAIRT 2.47 or later", b.version)
	}
	m := &Metadata{
		Backend: int(b.backend), BuildID: goString(b.buildID), Core: b.core, API: b.api, SoC: int(b.soc), Bytes: int64(b.blobSize),
	}
	for _, g := range unsafe.Slice(b.graphs, b.nGraphs) {
		s := Signature{Graph: goString(g.name)}
		for _, side := range []struct {
			ports *[]Port
			list  []cTensor
		}{{&s.In, unsafe.Slice(g.in, g.nIn)}, {&s.Out, unsafe.Slice(g.out, g.nOut)}} {
			for i := range side.list {
				*side.ports = append(*side.ports, side.list[i].port())
			}
		}
		m.Graphs = append(m.Graphs, s)
	}
	return m, nil
}

// port copies a tensor of the library's. An encoding that this package does not
// make is left out.
func (t *cTensor) port() Port {
	p := Port{Tensor{Name: goString(t.name), Kind: Kind(t.kind), Type: DType(t.dtype)}, t.id}
	for _, d := range unsafe.Slice(t.dims, t.rank) {
		p.Dims = append(p.Dims, int(d))
	}
	if t.quant.definition != isQuantized {
		return p
	}
	switch u := unsafe.Pointer(&t.quant.union); t.quant.encoding {
	case perTensor:
		q := (*cScaleOffset)(u)
		p.Quant = Quant{Scale: q.scale, Offset: q.offset}
	case bitsTensor:
		q := (*cBitsScale)(u)
		p.Quant = Quant{Scale: q.scale, Offset: q.offset, Bits: int(q.bits)}
	case perAxis:
		q := (*cAxisScale)(u)
		p.Quant.Axis = int(q.axis)
		for _, s := range unsafe.Slice(q.pairs, q.n) {
			p.Quant.Scales = append(p.Quant.Scales, s.scale)
			p.Quant.Offsets = append(p.Quant.Offsets, s.offset)
		}
	}
	return p
}
