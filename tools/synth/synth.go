// Package synth makes models of random weights from a config.json alone, so that
// speed, memory and conversion can be measured at full size without a download.
//
// What it makes is sane, not sensible: gains are near 1, every linear map keeps
// the size of its input and embeddings are the largest part of the residual
// stream, so activations stay finite and each token finds experts of its own.
//
// Invariants:
//
//	Y1  the same config.json, seed and options give the same bytes, whatever the workers
//	Y2  a package says in its provenance that it is synthetic
//	Y3  space that lacks is found out before anything is written
//
// Nothing is kept after a function returns. While a package is made, memory holds
// a few matrices a worker, and the matrices that experts share.
package synth

import (
	"context"
	"fmt"
	"strconv"

	"estream/models"
	"estream/models/checkpoint"
	"estream/pager/layout"
	"estream/tools/pack"
)

// Package writes the package dir of the model that the config.json at path
// describes. Weights are made as they are packed: random codes and scales. A
// matrix of an expert is one of a few, made once for all experts, so that the
// disk sets the pace. o.Formats, Fill and Provenance are not used. What
// pack.Companions names is taken from beside the config.json.
func Package(ctx context.Context, path, dir string, seed uint64, o pack.Options) (*pack.Report, error) {
	if err := prepare(path, seed, &o); err != nil {
		return nil, err
	}
	return pack.Run(ctx, path, dir, o)
}

// Plan tells what Package would write, and writes nothing.
func Plan(ctx context.Context, path string, seed uint64, o pack.Options) (*pack.Forecast, error) {
	if err := prepare(path, seed, &o); err != nil {
		return nil, err
	}
	return pack.Plan(ctx, path, o)
}

// prepare sets what of o makes weights.
func prepare(path string, seed uint64, o *pack.Options) error {
	m, err := open(path, seed, o.Families)
	if err != nil {
		return err
	}
	f := &filler{seed: seed, packing: o.Packing, shared: map[string]*shared{}}
	o.Formats, o.Fill = []checkpoint.Format{m.format()}, f.fill
	o.Provenance = []layout.KeyValue{
		{Key: "source", Value: "synthetic: random weights, nothing was trained"},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}
	return nil
}

// open reads a config.json and finds the tensors that its model has.
func open(path string, seed uint64, families []models.Family) (*model, error) {
	config, err := checkpoint.ReadConfig(path)
	if err != nil {
		return nil, err
	}
	m := &model{config: config, seed: seed}
	if err := m.list(families); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}
