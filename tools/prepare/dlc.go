package prepare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// A Described is a graph that stands in a file of its own.
type Described struct {
	Graph string `json:"graph"`
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// Describe writes the graphs that the package dir has on a backend, one a tier, to
// files <graph>.dlc of the folder to, which it makes, in place of files of these names.
// If one fails none is replaced. Who writes to the same folder waits for the other.
func Describe(ctx context.Context, dir, to string, b runtime.Device, write func(ctx context.Context, g *ir.Graph, p lower.Packing, path string) error, o Options) (_ []Described, err error) {
	pkg, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	p, err := packingOf(pkg.Manifest, b)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	m, err := legalized(pkg.Manifest, b, o)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", dir, err)
	}
	to = filepath.Clean(to)
	if at := layout.Around(to); at != "" {
		return nil, fmt.Errorf("%s is a package: name another folder for DLCs", at)
	}
	graphs := slices.DeleteFunc(m.Graphs, func(g *ir.Graph) bool {
		_, _, tier := passes.ParseTier(g.Name)
		return !tier || g.On != b.Name()
	})
	if len(graphs) == 0 {
		return nil, fmt.Errorf("package %s: %s runs none of its graphs", dir, b.Name())
	}
	w, err := begin(ctx, to, graphs, o.Waits)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end()) }()
	var made []Described
	for _, g := range graphs {
		size, err := w.write(g.Name+".dlc", func(path string) error { return write(ctx, g, p, path) })
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", dir, err)
		}
		made = append(made, Described{g.Name, filepath.Join(to, g.Name+".dlc"), size})
	}
	for _, d := range made {
		if err := os.Rename(filepath.Join(w.fresh, filepath.Base(d.File)), d.File); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// packingOf is the package's packing, if b reads it.
func packingOf(man *layout.Manifest, b lower.Backend) (lower.Packing, error) {
	i := slices.IndexFunc(b.Packings(), func(p lower.Packing) bool { return p.Name == man.Packing })
	if i < 0 {
		return lower.Packing{}, fmt.Errorf("packed as %s, which %s does not read: estream repack --backend %s PACKAGE NEW", man.Packing, b.Name(), b.Name())
	}
	return b.Packings()[i], nil
}

// legalized is the package's module as a run on b has it.
func legalized(man *layout.Manifest, b runtime.Device, o Options) (*ir.Module, error) {
	m, err := ir.Parse(man.Module, o.Ops)
	if err != nil {
		return nil, err
	}
	t := b.Target(o.Host)
	t.Tiers.P = runtime.HeadColumns(man, len(m.Layers))
	return m, passes.Run(m, passes.Open(t), nil)
}
