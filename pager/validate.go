package pager

import (
	"errors"
	"fmt"
)

func (p *Pager) validate() error {
	switch {
	case p.c.Arena == nil:
		return errors.New("no arena")
	case p.c.Readers < 1:
		return fmt.Errorf("%d readers, at least 1 needed", p.c.Readers)
	case p.c.Schedule > Guessed:
		return fmt.Errorf("unknown schedule %v", p.c.Schedule)
	}
	for i, st := range p.c.Stages {
		for j := range st.Dense {
			if err := p.validateRecord(run{stage: i, first: j, count: 1, dense: true}, p.c.Arena.DenseSlot); err != nil {
				return err
			}
		}
		for j := range st.Experts {
			if err := p.validateRecord(run{stage: i, first: j, count: 1}, p.c.Arena.Stride); err != nil {
				return err
			}
		}
		if err := p.validateStride(i); err != nil {
			return err
		}
	}
	return nil
}

// validateRecord checks that the one record of r lies in its file and fits the room it has in a cell.
func (p *Pager) validateRecord(r run, room int64) error {
	rec := p.record(r)
	src := p.source(r.dense)
	a := p.c.Arena
	switch {
	case src == nil:
		return fmt.Errorf("%s: no source to read it from", p.name(r))
	case len(a.cells(r.dense)) == 0:
		return fmt.Errorf("%s: the arena has no cell for it", p.name(r))
	case rec.Off < 0 || rec.Off%a.Align != 0:
		return p.errorAt(r, fmt.Errorf("offset is not a multiple of %d", a.Align))
	case rec.Len < 1 || rec.Len > room:
		return p.errorAt(r, fmt.Errorf("%d bytes, the arena has room for %d", rec.Len, room))
	case rec.Off > src.Size()-p.padded(rec):
		return p.errorAt(r, fmt.Errorf("%d bytes, file ends at %d: %w", p.padded(rec), src.Size(), ErrTruncated))
	}
	return nil
}

// validateStride finds the stride of a stage's experts and checks that all keep to it.
func (p *Pager) validateStride(stage int) error {
	experts := p.c.Stages[stage].Experts
	if len(experts) == 0 {
		return nil
	}
	stride := p.padded(experts[0])
	if len(experts) > 1 {
		stride = experts[1].Off - experts[0].Off
	}
	if stride > p.c.Arena.Stride {
		return fmt.Errorf("stage %d: expert stride %d, the arena has room for %d", stage, stride, p.c.Arena.Stride)
	}
	for i, e := range experts {
		if e.Off-experts[0].Off != int64(i)*stride || p.padded(e) > stride {
			return p.errorAt(run{stage: stage, first: i, count: 1}, fmt.Errorf("%d bytes do not keep to the stride %d", e.Len, stride))
		}
	}
	p.strides[stage] = stride
	return nil
}

// padded is what a record takes in its file; its Len fits the arena, so that this does not overflow.
func (p *Pager) padded(r Record) int64 {
	return (r.Len + p.c.Arena.Align - 1) &^ (p.c.Arena.Align - 1)
}

func (p *Pager) source(dense bool) Source {
	if dense {
		return p.c.Dense
	}
	return p.c.Experts
}

// record is the first record of a run.
func (p *Pager) record(r run) Record {
	if r.dense {
		dense := p.c.Stages[r.stage].Dense
		return dense[r.first%len(dense)]
	}
	return p.c.Stages[r.stage].Experts[r.first]
}

// span is the range of its file that a run takes: strides, and of the last record no more than it holds.
func (p *Pager) span(r run) (off, n int64) {
	first := p.record(r)
	if r.dense {
		return first.Off, p.padded(first)
	}
	last := p.c.Stages[r.stage].Experts[r.first+r.count-1]
	return first.Off, last.Off - first.Off + p.padded(last)
}

func (p *Pager) name(r run) string {
	name, kind, index := p.record(r).Name, "expert", r.first
	if r.dense {
		kind, index = "dense", r.first%len(p.c.Stages[r.stage].Dense)
	}
	if name == "" {
		name = fmt.Sprintf("stage %d %s %d", r.stage, kind, index)
	}
	if r.count > 1 {
		name = fmt.Sprintf("%s and %d after it", name, r.count-1)
	}
	return name
}

func (p *Pager) errorAt(r run, err error) error {
	return &RecordError{File: p.source(r.dense).Name(), Record: p.name(r), Off: p.record(r).Off, Err: err}
}
