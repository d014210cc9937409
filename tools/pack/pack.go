// Package pack drives a checkpoint through the compiler into a package on disk.
//
// Sizes are planned first, from the config alone; then weights are read a
// matrix at a time, encoded, packed and written at their planned places by a few
// workers, so that memory is bounded by the largest records in work, not by the
// model. Everything that can be refused is refused before the first byte is
// written.
package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"time"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/models"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/passes"
)

// Options says how to pack. Families, Formats and Packing must be given.
type Options struct {
	Encoding Encoding
	Backend  string        // recorded in the package
	Packing  lower.Packing // how its programs read matrices
	Align    int64         // of records; 0: layout.DefaultAlign
	Workers  int           // 0: one a processor

	IgnoreIndex bool // read the shards that are there instead of a stale index
	Families    []models.Family
	Formats     []checkpoint.Format

	// Fill, where set, makes every weight in place of the checkpoint, which is then
	// asked for names, types and config.json only: it writes w into dst as packed
	// and returns its factor, the same for all of a table. index is the expert, or
	// the first row of a part of the head or the table. Calls run concurrently.
	Fill       func(dst []byte, w passes.RecordWeight, layer, index int) (factor float32, err error)
	Provenance []layout.KeyValue // more of what the package says of where it comes from

	// Progress, where set, is told of bytes of records written, by one goroutine at a time.
	Progress func(done, total int64)
}

// A Report tells what a conversion did.
type Report struct {
	Family  string
	Notes   []string          // what was taken for granted
	Policy  []layout.KeyValue // what became of each kind of weight, and why
	Read    int64             // bytes of weights in the checkpoint
	Written int64             // bytes of the package's weights
	Elapsed time.Duration
}

// Companions are the files of a checkpoint that a package keeps beside the
// weights, where they are there.
var Companions = []string{"tokenizer.json", "tokenizer_config.json"}

// Run converts the checkpoint at path into the package dir, which must not
// exist. A conversion that fails or is cancelled leaves nothing behind.
func Run(ctx context.Context, path, dir string, o Options) (*Report, error) {
	begun := time.Now()
	ckpt, err := checkpoint.Open(path, checkpoint.Options{IgnoreIndex: o.IgnoreIndex}, o.Formats...)
	if err != nil {
		return nil, err
	}
	defer ckpt.Close()
	model, err := models.Open(ckpt, o.Families)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	j := &job{o: o, model: model, path: path, report: Report{Family: model.Family.Name, Notes: model.Notes}}
	for _, f := range ckpt.Files() {
		j.report.Read += f.Size
	}
	if err := j.plan(ctx); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	if err := j.write(ctx, dir, ckpt); err != nil {
		return nil, err
	}
	j.report.Written = j.layout.Experts + j.layout.Dense
	j.report.Elapsed = time.Since(begun)
	return &j.report, nil
}

// A job is one conversion.
type job struct {
	o       Options
	model   *models.Model
	path    string
	module  *ir.Module
	records map[string]passes.Record
	layout  layout.Plan
	man     layout.Manifest
	tasks   []task
	report  Report
}

// write makes the package; what a failure leaves is removed.
func (j *job) write(ctx context.Context, dir string, ckpt checkpoint.Checkpoint) (err error) {
	w, err := layout.Create(dir, j.layout)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	if err := j.run(ctx, w); err != nil {
		return err
	}
	for _, name := range Companions {
		if err := j.companion(w, name); err != nil {
			return err
		}
	}
	if j.man.Config, err = ckpt.Config(); err != nil {
		return err
	}
	return w.Finish(&j.man)
}

func (j *job) companion(w *layout.Writer, name string) error {
	folder := j.path
	if st, err := os.Stat(folder); err == nil && !st.IsDir() {
		folder = filepath.Dir(folder)
	}
	f, err := os.Open(filepath.Join(folder, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return w.Companion(name, f)
}

// workers is how many records are made at a time.
func (j *job) workers() int {
	if j.o.Workers > 0 {
		return j.o.Workers
	}
	return goruntime.GOMAXPROCS(0)
}

// encode reads a weight of the model and encodes it.
func (j *job) encode(ctx context.Context, name string, layer, expert int, d ir.DType, row, rows, k int) (*quant.Matrix, error) {
	w := make([]float32, rows*k)
	if err := j.model.Read(ctx, name, layer, expert, row, rows, w); err != nil {
		return nil, err
	}
	m, err := quant.Encode(d, rows, k, w)
	if err != nil {
		return nil, fmt.Errorf("weight %s of layer %d, expert %d: %w", name, layer, expert, err)
	}
	return m, nil
}
