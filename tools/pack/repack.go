package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// RepackOptions says how to repack. Of Options, Backend, Packing and what is not
// of checkpoints count; Align 0 keeps the package's.
type RepackOptions struct {
	Options
	Known []lower.Packing // those that packages may have
	Ops   ir.Ops          // that packages may use
}

// Repack writes the package at path once more, as dir and in another packing or
// alignment: the same codes and scales, so that nothing is rounded again. What its backends
// compiled is left out. It goes on and fails as [Run] does, and refuses damage.
func Repack(ctx context.Context, path, dir string, o RepackOptions) (*Report, error) {
	begun := time.Now()
	pkg, err := layout.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := newRepacker(pkg, o)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", path, err)
	}
	defer r.close()
	return r.convert(ctx, dir, r, begun)
}

// newRepacker plans the new package and opens the old one's files.
func newRepacker(pkg *layout.Package, o RepackOptions) (*repacker, error) {
	old := pkg.Manifest
	from, err := findPacking(o.Known, old.Packing)
	if err != nil {
		return nil, err
	}
	if same(old, o.Options) {
		return nil, fmt.Errorf("it is packed as %s for %s and aligned to %d already; copy it, or ask for another backend or alignment", from.Name, o.Backend, old.Align)
	}
	r := &repacker{job: &job{o: o.Options}, old: old, from: from}
	if r.module, err = ir.Parse(old.Module, o.Ops); err != nil {
		return nil, err
	}
	if r.oldRecords, err = passes.Records(r.module, from); err != nil {
		return nil, err
	}
	if err := r.relayout(); err != nil {
		return nil, err
	}
	if err := r.plan(pkg); err != nil {
		return nil, err
	}
	return r, r.open(pkg)
}

// same reports whether a repacked package would be the one that is there.
func same(old *layout.Manifest, o Options) bool {
	return old.Packing == o.Packing.Name && cmp.Or(o.Align, old.Align) == old.Align &&
		slices.Equal(old.Backends, []string{o.Backend}) && len(old.Artifacts) == 0
}

func findPacking(known []lower.Packing, name string) (lower.Packing, error) {
	i := slices.IndexFunc(known, func(p lower.Packing) bool { return p.Name == name })
	if i < 0 {
		var names []string
		for _, p := range known {
			names = append(names, p.Name)
		}
		return lower.Packing{}, fmt.Errorf("its packing %q is unknown; known: %s", name, strings.Join(names, ", "))
	}
	return known[i], nil
}

// relayout gives the module's weights their offsets in the new records.
func (r *repacker) relayout() error {
	ps, err := passes.Select(passes.Pack(passes.Policy{}, r.o.Packing, nil), "layout")
	if err != nil {
		return err
	}
	if err := passes.Run(r.module, ps, nil); err != nil {
		return err
	}
	r.records, err = passes.Records(r.module, r.o.Packing)
	return err
}

// plan places the new records and checks that the old ones are such.
func (r *repacker) plan(pkg *layout.Package) error {
	old, j := r.old, r.job
	if len(old.Rows) != 1 || len(old.Backends) == 0 {
		return errors.New("it has no table of embeddings, or no backend")
	}
	j.report = Report{Family: old.Family, Policy: old.Policy}
	j.vocabSize = int(old.Rows[0].Rows)
	j.man = layout.Manifest{
		Align: cmp.Or(j.o.Align, old.Align), Provenance: append(slices.Clone(old.Provenance), j.o.Provenance...), Family: old.Family, Config: old.Config, Policy: old.Policy,
		Ops: old.Ops, Backends: []string{j.o.Backend}, Packing: j.o.Packing.Name, Module: r.module.String(),
	}
	runs := 0
	for _, d := range old.Dense {
		if d.Class == passes.HeadProj {
			runs++
		}
	}
	if runs == 0 {
		return errors.New("it has no records of the head")
	}
	if err := j.place(layout.RunColumns(j.vocabSize, runs, runtime.HeadPanel)); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	for _, f := range old.Files {
		made := slices.ContainsFunc(old.Artifacts, func(a layout.Artifact) bool { return a.File == f.Name })
		switch {
		case f.Name == layout.ExpertsName || f.Name == layout.DenseName:
			j.report.Read += f.Size
		case !made:
			j.companions = append(j.companions, companion{f.Name, f.Size, func() ([]byte, error) { return pkg.Companion(f.Name) }})
		}
	}
	manifest, err := layout.Encode(old) // not read again: it may be another by now
	if err != nil {
		return err
	}
	j.layout.Identity = j.identity("the hash of the package's manifest", digest(string(manifest)))
	j.layout.Companions, j.layout.CompanionNames = j.besideBytes(), j.companionNames()
	return nil
}

// check checks that the old package has the records that the new one is made
// of: a package may come from a stranger.
func (r *repacker) check() error {
	old := r.old
	if err := r.checkRecords(layout.ExpertsName, old.Experts, r.man.Experts, false); err != nil {
		return err
	}
	if err := r.checkRecords(layout.DenseName, old.Dense, r.man.Dense, true); err != nil {
		return err
	}
	if got, want := old.Rows[0].RowBytes, r.man.Rows[0].RowBytes; got != want {
		return fmt.Errorf("%s: rows of %d bytes, where the module's take %d", layout.DenseName, got, want)
	}
	if got, want := old.Rows[0].Name, r.man.Rows[0].Name; got != want {
		return fmt.Errorf("%s: rows %q, where the module has %q", layout.DenseName, got, want)
	}
	return nil
}

func (r *repacker) checkRecords(file string, olds, news []layout.Record, dense bool) error {
	if len(olds) != len(news) {
		return fmt.Errorf("%s: %d records, where the module has %d", file, len(olds), len(news))
	}
	for _, t := range r.tasks {
		if t.dense != dense || t.rows > 0 {
			continue
		}
		a, b := olds[t.index], news[t.index]
		if a.Layer != b.Layer || a.Index != b.Index || a.Class != b.Class {
			return fmt.Errorf("%s: record %d is %s %d.%d, where the module has %s %d.%d", file, t.index, a.Class, a.Layer, a.Index, b.Class, b.Layer, b.Index)
		}
		parts, err := r.oldParts(t)
		if err != nil {
			return err
		}
		if a.Length != parts.Len || len(a.Factors) != len(parts.Weights) {
			return fmt.Errorf("%s: record %d has %d bytes and %d factors, where the module has %d and %d", file, t.index, a.Length, len(a.Factors), parts.Len, len(parts.Weights))
		}
		if err := r.checkOrder(t, parts); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder checks that the weights of a record follow each other as layout
// would have them: factors and bytes are taken in that order.
func (r *repacker) checkOrder(t task, old passes.Record) error {
	_, weights, _, err := r.parts(t)
	if err != nil {
		return err
	}
	for i, w := range weights {
		if name := old.Weights[i].Name; name != w.Name {
			return fmt.Errorf("record %s: weight %s stands where %s belongs", old.Class, name, w.Name)
		}
	}
	return nil
}
