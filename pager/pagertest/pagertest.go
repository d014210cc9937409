// Package pagertest is what tests of the pager and of its users share: models of random bytes in memory, a Source that
// fails by a script, and a check that no reader outlives its test. Nothing but tests imports it.
package pagertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"estream/pager"
	"estream/pager/crc32c"
)

// A Mem is a Source in memory. Reads off its alignment are refused.
type Mem struct {
	name  string
	data  []byte
	align int64
}

// NewMem returns a Source of data, which it keeps.
func NewMem(name string, data []byte, align int64) *Mem {
	return &Mem{name, data, align}
}

// ReadAt implements pager.Source.
func (m *Mem) ReadAt(ctx context.Context, p []byte, off int64) error {
	n := int64(len(p))
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case off%m.align != 0 || n%m.align != 0:
		return fmt.Errorf("%s: %d bytes at offset %d, alignment is %d", m.name, n, off, m.align)
	case off < 0 || off > m.Size()-n:
		return fmt.Errorf("%s: %d bytes at offset %d: %w", m.name, n, off, pager.ErrTruncated)
	}
	copy(p, m.data[off:])
	return nil
}

// Size implements pager.Source.
func (m *Mem) Size() int64 { return int64(len(m.data)) }

// Align implements pager.Source.
func (m *Mem) Align() int64 { return m.align }

// Name implements pager.Source.
func (m *Mem) Name() string { return m.name }

// Close implements pager.Source.
func (m *Mem) Close() error { return nil }

// Bytes is the payload of a record.
func (m *Mem) Bytes(r pager.Record) []byte { return m.data[r.Off : r.Off+r.Len] }

// A Shape is how many records a stage has, and the largest payload of one.
type Shape struct {
	Dense, Experts int
	Size           int64
}

// A Model is stages and the files that hold their records, with checksums and names ("layer 1 expert 2", "dense 3 of
// layer 1").
type Model struct {
	Stages         []pager.Stage
	Dense, Experts *Mem
	Align          int64

	stride, slot int64
}

// New makes a model of random bytes; payloads of dense records vary in size, those of a stage's experts do not.
func New(seed uint64, align int64, shapes ...Shape) *Model {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &Model{Align: align}
	var dense, experts []byte
	for l, sh := range shapes {
		var st pager.Stage
		for i := range sh.Dense {
			rec := appendRecord(&dense, rng, 1+rng.Int64N(sh.Size), align, fmt.Sprintf("dense %d of layer %d", i, l))
			m.slot = max(m.slot, pad(rec.Len, align))
			st.Dense = append(st.Dense, rec)
		}
		size := 1 + rng.Int64N(sh.Size)
		for i := range sh.Experts {
			rec := appendRecord(&experts, rng, size, align, fmt.Sprintf("layer %d expert %d", l, i))
			m.stride = max(m.stride, pad(rec.Len, align))
			st.Experts = append(st.Experts, rec)
		}
		m.Stages = append(m.Stages, st)
	}
	m.Dense, m.Experts = NewMem("dense.bin", dense, align), NewMem("experts.bin", experts, align)
	return m
}

func appendRecord(file *[]byte, rng *rand.Rand, n, align int64, name string) pager.Record {
	payload := make([]byte, pad(n, align))
	for i := range n {
		payload[i] = byte(rng.Uint32())
	}
	rec := pager.Record{
		Off:  int64(len(*file)),
		Len:  n,
		CRC:  crc32c.Checksum(payload[:n]),
		Name: name,
	}
	*file = append(*file, payload...)
	return rec
}

func pad(n, align int64) int64 { return (n + align - 1) / align * align }

// Geometry is that of the least arena with so many banks and records a group.
func (m *Model) Geometry(banks, group int) pager.Geometry {
	return pager.Geometry{Banks: banks, Group: group, Stride: m.stride, DenseSlot: m.slot, Align: m.Align}
}

// Pins is pins of some of the model's records, experts in runs of 1 to 5.
func (m *Model) Pins(rng *rand.Rand) []*pager.Pin {
	var pins []*pager.Pin
	for l, st := range m.Stages {
		for i, rec := range st.Dense {
			if rng.IntN(3) == 0 {
				pins = append(pins, &pager.Pin{Stage: l, Dense: true, First: i, Count: 1, Mem: m.Memory(pad(rec.Len, m.Align))})
			}
		}
		for i := 0; i < len(st.Experts); {
			n := min(1+rng.IntN(5), len(st.Experts)-i)
			if rng.IntN(2) == 0 {
				last := st.Experts[i+n-1]
				size := last.Off + pad(last.Len, m.Align) - st.Experts[i].Off
				pins = append(pins, &pager.Pin{Stage: l, First: i, Count: n, Mem: m.Memory(size)})
			}
			i += n
		}
	}
	return pins
}

// Memory is n bytes of Go's heap at a multiple of the model's alignment.
func (m *Model) Memory(n int64) []byte {
	p := make([]byte, n+m.Align)
	skip := -int64(reflect.ValueOf(p).Pointer()) & (m.Align - 1)
	return p[skip : skip+n : skip+n]
}

// Checks is a policy for the model's files.
func (m *Model) Checks(p pager.Policy) *pager.Checks {
	return pager.NewChecks(p, m.Dense.Size(), m.Experts.Size(), m.Align)
}

// Config reads the model through an arena of its own and checks every record. The arena's memory, returned with it, is on
// Go's heap, where the race detector sees it.
func (m *Model) Config(t testing.TB, banks, group, readers int) (pager.Config, []byte) {
	t.Helper()
	g := m.Geometry(banks, group)
	mem := make([]byte, g.Bytes()+m.Align)
	a, err := pager.NewArena(mem, g)
	for skip := int64(1); err != nil && skip < m.Align; skip++ { // one of them is aligned
		mem = mem[1:]
		a, err = pager.NewArena(mem, g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pager.Config{Stages: m.Stages, Dense: m.Dense, Experts: m.Experts, Arena: a, Readers: readers, Checks: m.Checks(pager.Always)}, mem
}
