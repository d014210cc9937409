package qnn

import (
	"fmt"
	"runtime"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

// A spot is where tensors of a shape stand in a region, as a context knows it.
type spot struct {
	room  *room
	mem   *mem
	off   int64 // in the region
	shape string
}

// A port is an input or output of a graph.
type port struct {
	native.Tensor
	shape string // type and extents
}

func portsOf(tensors []native.Tensor) (ports []port) {
	for _, t := range tensors {
		ports = append(ports, port{t, fmt.Sprint(t.Type, t.Dims)})
	}
	return ports
}

// regions returns what makes memory that HTP maps too, nil where there is no such:
// then a library copies what it is given.
func (d *Device) regions() func(bytes int64) (*native.Region, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked {
		d.asked, d.share = true, d.options.Share
		if d.share == nil && d.half() && runtime.GOARCH == "arm64" {
			d.share = systemRegions()
		}
	}
	return d.share
}

// systemRegions are those of the device's own library; without it HTP is not reached
// either.
func systemRegions() func(bytes int64) (*native.Region, error) {
	path := find.Here().RPC()
	if path == "" {
		return nil
	}
	r, err := native.OpenRPCMem(path)
	if err != nil {
		return nil
	}
	return r.Alloc
}

// stand returns what a run gives the library for a port: bytes of m, which are at
// off, or nil where m is a region, in which the port has been made to stand.
func (e *executable) stand(p *port, bytes []byte, m *mem, off int64) ([]byte, error) {
	if m.region == nil {
		return bytes, nil
	}
	known, err := e.device.register(spot{e.room, m, m.skip + off, p.shape}, &p.Tensor)
	if err != nil {
		return nil, err
	}
	return nil, e.call.Use(p.Name, known)
}

// register makes a spot known to its context, once.
func (d *Device) register(s spot, t *native.Tensor) (m *native.Memory, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.spots[s]; known != nil {
		return known, nil
	}
	r := s.mem.region
	err = d.thread.do(func() (err error) {
		m, err = s.room.context.Register(t, native.Shared{FD: r.FD, Bytes: int64(len(r.Bytes)), Offset: s.off})
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.spots == nil {
		d.spots = map[spot]*native.Memory{}
	}
	d.spots[s] = m
	return m, nil
}

// forget makes unknown what stands in a memory, or is known to a room. The caller
// has locked d.
func (d *Device) forget(which func(spot) bool) error {
	return d.thread.do(func() error {
		for s, m := range d.spots {
			if which(s) {
				if err := m.Close(); err != nil {
					return err
				}
				delete(d.spots, s)
			}
		}
		return nil
	})
}
