package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/pack"
	"estream/tools/page"
)

// pageTokens is how long the prompt is whose plan a page shows.
const pageTokens = 512

// inspectHTML writes the page of the open package in dir into file.
func (a *App) inspectHTML(ctx context.Context, m *runtime.Model, dir, file string) error {
	c, err := a.census(m)
	if err != nil {
		return err
	}
	s, err := a.pageOf(m.Manifest(), c, m.Vocab())
	if err != nil {
		return err
	}
	plan, err := m.PlanAs(ctx, pageTokens, runtime.Shape{}, 0)
	if err != nil {
		return err
	}
	s.Name, s.Plan = baseName(dir), &plan
	return a.writePage(ctx, s, file, dir)
}

// plannedHTML writes the page of a package that synth or pack would make of a config.
func (a *App) plannedHTML(ctx context.Context, plan *pack.Forecast, f synthFlags) error {
	s, err := a.pageOf(plan.Manifest, &plan.Census, plan.Vocab)
	if err != nil {
		return err
	}
	s.Planned, s.Name = true, strings.TrimSuffix(baseName(f.config), ".config.json")
	if s.Name == "config.json" {
		s.Name = baseName(filepath.Dir(f.config))
	}
	return a.writePage(ctx, s, f.html, f.config, f.named)
}

// pageOf is what a page of a manifest shows, but for its name.
func (a *App) pageOf(man *layout.Manifest, c *pack.Census, vocab int) (page.Source, error) {
	s := page.Source{Manifest: man, Census: c, Vocab: vocab, Families: a.Families, Host: a.host()}
	var err error
	if s.Ops, err = ir.Core(a.Ops...); err != nil {
		return s, err
	}
	if s.Packing, err = a.namedPacking(man.Packing); err != nil {
		return s, err
	}
	for _, b := range a.choice() {
		x, err := a.backend(b.Name)
		if err != nil {
			return s, err
		}
		s.Backends = append(s.Backends, page.Backend{Backend: x, Doc: b.Doc})
	}
	return s, nil
}

// namedPacking is the packing of a name.
func (a *App) namedPacking(name string) (lower.Packing, error) {
	for _, p := range a.packings() {
		if p.Name == name {
			return p, nil
		}
	}
	return lower.Packing{}, fmt.Errorf("its packing %q is unknown", name)
}

// writePage writes a page of what is read into a file that is none of it.
func (a *App) writePage(ctx context.Context, s page.Source, file string, read ...string) error {
	out, err := newOutput(ctx, "html", file, read...)
	if err != nil {
		return err
	}
	defer out.discard()
	if _, err := until(ctx, func() (page.Source, error) { return s, page.Write(out, s) }); err != nil {
		return err
	}
	if err := out.finish(); err != nil {
		return err
	}
	a.note("page written to %s", file)
	return nil
}

// baseName is the last part of a path, whatever it is typed as.
func baseName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}
