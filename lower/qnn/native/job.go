package native

import (
	"errors"
	"fmt"
)

// A Job is what is prepared at once: graphs that are built in one context; or a
// context binary whose description is read.
type Job struct {
	Library string // path of the backend library, or for Describe of the system library
	Start   Options
	Graphs  []Desc
	Options GraphOptions
	Binary  bool // whether the context is serialised; the CPU library cannot

	Describe []byte // a context binary, alone; nil: none
}

// A Result is what a Job came to.
type Result struct {
	BuildID string // the SDK build that prepared the graphs
	Binary  []byte // the context, nil if it was not asked for
	Graphs  []Signature
	Log     string // what the library printed, from a Child alone

	Metadata *Metadata // of Describe
}

// Run does the job in this process.
func (j *Job) Run() (*Result, error) { return j.run(func(string, string) {}) }

// run does the job and tells `at` of each call before it is made.
func (j *Job) run(at func(call, of string)) (_ *Result, err error) {
	if j.Describe != nil {
		return j.describe(at)
	}
	lib, err := Open(j.Library)
	if err != nil {
		return nil, err
	}
	at(logCreate.String(), j.Library)
	b, err := lib.Start(j.Start)
	if err != nil {
		return nil, err
	}
	b.at = at
	defer func() { err = errors.Join(err, b.Close()) }()
	c, err := b.NewContext()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	r := &Result{}
	if r.BuildID, err = lib.BuildID(); err != nil {
		return nil, err
	}
	for i := range j.Graphs {
		g, err := c.Build(&j.Graphs[i], j.Options)
		if err != nil {
			return nil, err
		}
		r.Graphs = append(r.Graphs, g.Signature())
	}
	if j.Binary {
		if r.Binary, err = c.Binary(); err != nil {
			return nil, fmt.Errorf("serialise %d graphs: %w", len(j.Graphs), err)
		}
	}
	return r, nil
}

func (j *Job) describe(at func(call, of string)) (*Result, error) {
	s, err := OpenSystem(j.Library)
	if err != nil {
		return nil, err
	}
	at(systemContextGetMetaData, fmt.Sprintf("a context binary of %d bytes", len(j.Describe)))
	m, err := s.Metadata(j.Describe)
	return &Result{Metadata: m}, err
}
