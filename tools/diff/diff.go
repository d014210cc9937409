// Package diff tells what differs between two models: packages, checkpoints or
// graphs as text.
//
// Settings are compared by their places in config.json, graphs value by value,
// weights tensor by tensor under the family's names, and, of packages, the files
// beside the weights and the logits of a prompt. What one side does not have is not
// compared, and the report says so.
//
// Memory does not grow with the models: of weights there are a few blocks of rows in
// memory, of logits one position, those of the first model wait in a file.
package diff

import (
	"context"
	"fmt"
	"os"
	"slices"

	"estream/ir"
	"estream/pager/layout"
	"estream/tools/weights"
)

// A Side is one of the two things compared. What it does not have is nil.
type Side struct {
	Path    string
	Kind    string // package, checkpoint or graphs
	Config  []byte
	Package *layout.Manifest
	Module  *ir.Module
	Weights *weights.Set
}

// Options says what is compared, and how strictly.
type Options struct {
	Config, Graphs, Weights bool
	Tolerance               float64 // that an element of a weight may be off by, of the largest magnitude of its tensor in a
	Workers                 int     // tensors at a time; 0: one a processor
	Logits                  *Prompt // nil: none are compared

	Progress func(done, total int64) // values compared; one call at a time
}

// A Report is what differs. Its parts are empty where nothing does.
type Report struct {
	A       string  `json:"a"`
	B       string  `json:"b"`
	Same    bool    `json:"same"`
	Skipped []Skip  `json:"skipped"`
	Package []Field `json:"package"` // of the packages themselves
	Config  []Field `json:"config"`  // of config.json
	Graphs  []Graph `json:"graphs"`
	Weights *Tally  `json:"weights,omitempty"` // nil: not compared
	Logits  *Logits `json:"logits,omitempty"`  // nil: not compared
}

// A Skip is something that was not compared.
type Skip struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// A Field is a setting that differs; a side that lacks it is empty.
type Field struct {
	Key string `json:"key"`
	A   string `json:"a"`
	B   string `json:"b"`
}

// Run compares two sides.
func Run(ctx context.Context, a, b Side, o Options) (*Report, error) {
	r := &Report{A: a.Path, B: b.Path, Skipped: []Skip{}, Package: []Field{}, Config: []Field{}, Graphs: []Graph{}}
	var first *os.File
	if o.Logits != nil { // made before the rest, which may take minutes
		var err error
		if first, err = os.CreateTemp("", "estream-diff-"); err != nil {
			return nil, fmt.Errorf("logits wait in a temporary file: set TMPDIR to a folder that can be written to: %w", err)
		}
		defer os.Remove(first.Name())
		defer first.Close()
	}
	if o.Config {
		if err := r.settings(a, b); err != nil {
			return nil, err
		}
	}
	if o.Graphs {
		r.graphs(a, b)
	}
	if o.Weights {
		if err := r.weights(ctx, a, b, o); err != nil {
			return nil, err
		}
	}
	if o.Logits != nil {
		l, err := logits(ctx, o.Logits, first)
		if err != nil {
			return nil, err
		}
		r.Logits = l
	}
	r.Same = len(r.Package)+len(r.Config)+len(r.Graphs) == 0 && (r.Weights == nil || r.Weights.same()) && (r.Logits == nil || r.Logits.Same)
	return r, nil
}

func (r *Report) skip(what, why string) { r.Skipped = append(r.Skipped, Skip{what, why}) }

// lacks notes that some kind of side does not have what is to be compared.
func (r *Report) lacks(what string, a, b Side, has func(Side) bool) bool {
	for _, s := range []Side{a, b} {
		if !has(s) {
			r.skip(what, s.Path+" has none: it is "+article(s.Kind))
			return true
		}
	}
	return false
}

func article(kind string) string {
	if kind == "graphs" {
		return kind
	}
	return "a " + kind
}

// settings compares config.json, and what packages say of themselves.
func (r *Report) settings(a, b Side) error {
	if a.Package != nil && b.Package != nil {
		r.Package = manifests(a.Package, b.Package)
	}
	if r.lacks("config", a, b, func(s Side) bool { return s.Config != nil }) {
		return nil
	}
	x, err := flatten(a)
	if err != nil {
		return err
	}
	y, err := flatten(b)
	if err != nil {
		return err
	}
	r.Config = fields(x, y)
	return nil
}

// graphs compares modules of one stage.
func (r *Report) graphs(a, b Side) {
	switch {
	case r.lacks("graphs", a, b, func(s Side) bool { return s.Module != nil }):
	case a.Kind != b.Kind && !slices.Contains([]string{a.Kind, b.Kind}, "graphs"):
		r.skip("graphs", "those of a checkpoint have not been lowered as those of a package: compare two packages")
	default:
		r.Graphs = modules(a.Module, b.Module)
	}
}
