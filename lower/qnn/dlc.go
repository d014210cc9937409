package qnn

import (
	"context"
	"fmt"
	"path/filepath"

	"estream/ir"
	"estream/lower"
	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

// DLC writes what g becomes, whose extents are numbers, to a file as the vendor's
// converters write models, by libQnnIr. Weights are no part of it: they are inputs.
func (d *Device) DLC(ctx context.Context, g *ir.Graph, p lower.Packing, path string) error {
	lows, err := d.lowerAll([]*ir.Graph{g}, p)
	if err != nil {
		return err
	}
	set, err := find.Here().SearchFor(d.options.Folder, "ir")
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	tell(ctx, Step{Device: d.name, Doing: Writing, Graph: g.Name})
	defer tell(ctx, Step{})
	job := &native.Job{Library: filepath.Join(set.Path, "libQnnIr.so"), Graphs: []native.Desc{*lows[0].desc}, Options: native.GraphOptions{DLC: path}}
	if len(d.options.Child.Command) > 0 {
		_, err = d.options.Child.Run(ctx, job)
	} else {
		_, err = job.Run()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	return nil
}
