// Package pack drives a checkpoint through the compiler into a package on disk,
// and a package into one of another packing.
//
// Sizes are planned first, from the config alone; then records are made by a few
// workers and written at their planned places. Everything that can be refused is
// refused before the first byte is written. What holds of every conversion:
//
//	V1 the package depends on the sources and the options alone: not on the
//	   number of workers, nor on how often it was interrupted
//	V2 a record that was made is not made again: an interrupted conversion goes
//	   on where it was, from the same sources and options only
//	V3 memory is bounded by [Memory], whatever the model; see there
//	V4 sources that are written anew while they are read make no package: sizes,
//	   times and config.json are compared before it is finished
//
// A conversion keeps nothing in memory after it returns.
package pack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"estream/lower"
	"estream/models"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/passes"
)

// Options says how to pack. Families, Formats and Packing must be given.
type Options struct {
	Encoding  Encoding
	KeepCodes bool          // w4full for experts in place of Encoding's, where the checkpoint has all of them so
	Backend   string        // recorded in the package
	Packing   lower.Packing // how its programs read matrices
	Align     int64         // of records; 0: layout.DefaultAlign
	Workers   int           // records made at a time; 0: two a processor

	IgnoreIndex bool // read the shards that are there instead of a stale index
	Families    []models.Family
	Formats     []checkpoint.Format

	// Fill, where set, makes every weight in place of the checkpoint, which is then
	// asked for names, types and config.json only: it writes w into dst as packed
	// and returns its factor, the same for all of a table. index is the expert, or
	// the first row of a part of the head or the table. Calls run concurrently.
	// What Fill makes must follow from Provenance.
	Fill       func(dst []byte, w passes.RecordWeight, layer, index int) (factor float32, err error)
	Provenance []layout.KeyValue // more of what the package says of where it comes from

	Restart bool  // discard what an earlier conversion left, instead of going on with it
	Sync    int64 // bytes written after which they are made durable; 0: 256 MiB

	// Each is called by one goroutine at a time, where it is set.
	Checked  func(done, total int64) // bytes of an earlier conversion that were read again
	Resumed  func(kept, total int64) // once, before work goes on: bytes of records that an earlier conversion made
	Progress func(done, total int64) // bytes of records made, those kept included

	block int // elements of a large matrix that are encoded at a time; 0: blockElems
}

// A Report tells what a conversion did.
type Report struct {
	Family   string
	Encoding string            // its name; empty where packages are converted
	Notes    []string          // what was taken for granted
	Policy   []layout.KeyValue // what became of each kind of weight, and why
	Read     int64             // bytes of weights in the checkpoint, or of records in the package
	Written  int64             // bytes of the package's weights
	Kept     float64           // share of the records that earlier conversions had made, 0 to 1
	Elapsed  time.Duration
	Peak     int64 // bytes: the most resident memory that the process had, 0 where the system does not tell
}

// Rate is how many bytes of the source were converted a second, what was kept
// apart.
func (r *Report) Rate() float64 {
	return (1 - r.Kept) * float64(r.Read) / r.Elapsed.Seconds()
}

// Run converts the checkpoint at path into the package dir, which must not
// exist, or goes on with that. A conversion that fails or is cancelled leaves
// what it has made for the next, and its error is an [*Unfinished]; one that has
// made nothing leaves nothing.
func Run(ctx context.Context, path, dir string, o Options) (*Report, error) {
	begun := time.Now()
	p, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	defer p.ckpt.Close()
	return p.convert(ctx, dir, p, begun)
}

// open opens the checkpoint at path and plans its package.
func open(ctx context.Context, path string, o Options) (*packer, error) {
	ckpt, err := checkpoint.Open(path, checkpoint.Options{IgnoreIndex: o.IgnoreIndex}, o.Formats...)
	if err != nil {
		return nil, err
	}
	p, err := newPacker(ctx, ckpt, path, o)
	if err != nil {
		return nil, named(path, errors.Join(err, ckpt.Close()))
	}
	return p, nil
}

// named names the checkpoint at path in an error that does not begin with it.
func named(path string, err error) error {
	for _, begin := range []string{"checkpoint " + path + ": ", path + ": ", filepath.Clean(path) + string(filepath.Separator)} {
		if strings.HasPrefix(err.Error(), begin) {
			return err
		}
	}
	return fmt.Errorf("checkpoint %s: %w", path, err)
}

func newPacker(ctx context.Context, ckpt checkpoint.Checkpoint, path string, o Options) (*packer, error) {
	j := &job{o: o}
	if err := j.watchCheckpoint(ckpt, path); err != nil {
		return nil, err
	}
	model, err := models.Open(ckpt, o.Families)
	if err != nil {
		return nil, err
	}
	j.vocabSize = model.Config.VocabSize
	j.report.Family, j.report.Notes = model.Family.Name, model.Notes
	p := &packer{job: j, model: model, ckpt: ckpt}
	p.findStacked()
	return p, p.plan(ctx, path)
}
