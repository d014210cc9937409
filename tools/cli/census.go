package cli

import (
	"fmt"
	"maps"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/models"
	"estream/pager/layout"
	"estream/runtime"
	"estream/tools/pack"
)

// census counts the parameters of an open package, as far as what it holds and the
// families that the program knows tell.
func (a *App) census(m *runtime.Model) (*pack.Census, error) {
	man := m.Manifest()
	ops, err := ir.Core(a.Ops...)
	if err != nil {
		return nil, err
	}
	module, err := ir.Parse(man.Module, ops)
	if err != nil {
		return nil, err
	}
	known := a.packings()
	i := slices.IndexFunc(known, func(p lower.Packing) bool { return p.Name == man.Packing })
	if i < 0 {
		return nil, fmt.Errorf("its packing %q is unknown", man.Packing)
	}
	var table models.Weights
	for _, f := range a.Families {
		if f.Name == man.Family {
			table = f.Weights
		}
	}
	c, err := models.ReadConfig(man.Config)
	return pack.Count(module, known[i], m.Vocab(), table, err == nil && c.TieWordEmbeddings)
}

// printCensus prints a line of parameters, and one for each kind of weight.
func (a *App) printCensus(c *pack.Census) {
	billions := ""
	if c.Params >= 1e8 {
		billions = fmt.Sprintf(" (%.2f billion)", float64(c.Params)/1e9)
	}
	fmt.Fprintf(a.Stdout, "params    %d%s: %d of experts, %d for each token\n", c.Params, billions, c.Experts, c.Active)
	for _, k := range c.Kinds {
		fmt.Fprintf(a.Stdout, "weights   %-7s %-9s %14d values in %s\n", k.Name, k.Type, k.Values, formatSize(k.Bytes))
	}
}

// censusJSON adds what printCensus prints to fields.
func censusJSON(c *pack.Census, fields map[string]any) map[string]any {
	type kind struct {
		Kind   string `json:"kind"`
		Type   string `json:"type"`
		Values int64  `json:"values"`
		Bytes  int64  `json:"bytes"`
	}
	kinds := []kind{}
	for _, k := range c.Kinds {
		kinds = append(kinds, kind{k.Name, k.Type.String(), k.Values, k.Bytes})
	}
	maps.Copy(fields, map[string]any{"params": c.Params, "expert_params": c.Experts, "active_params": c.Active, "weights": kinds})
	return fields
}

// printFiles prints the files of a package.
func (a *App) printFiles(files []layout.FileSum) {
	for _, f := range files {
		fmt.Fprintf(a.Stdout, "file      %-22s %s\n", f.Name, formatSize(f.Size))
	}
}
