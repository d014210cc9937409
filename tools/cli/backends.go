package cli

import (
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

// A backendInfo is a backend as backends shows it.
type backendInfo struct {
	Name         string        `json:"name"`
	Doc          string        `json:"doc"`
	Packings     []packingInfo `json:"packings"`
	Instructions []string      `json:"instructions"` // of the host: what this processor has, the best first
	Chosen       string        `json:"chosen"`       // of Instructions
	Lacks        []string      `json:"lacks"`        // operators; null where it lists none
	Needs        *needsInfo    `json:"needs,omitempty"`
}

// A packingInfo is a packing and the types of matrices that it takes.
type packingInfo struct {
	Name  string   `json:"name"`
	Types []string `json:"types"`
}

// A needsInfo is what a backend runs on that is no part of the program.
type needsInfo struct {
	Found   string `json:"found"`   // empty: nothing
	Missing string `json:"missing"` // what, and the remedy; empty: nothing
}

func (a *App) listBackends(asJSON bool) error {
	list := []backendInfo{}
	for _, c := range a.choice() {
		x, err := a.describeBackend(c)
		if err != nil {
			return err
		}
		list = append(list, x)
	}
	if asJSON {
		return a.printJSON(map[string]any{"backends": list})
	}
	for _, x := range list {
		a.printBackend(x)
	}
	return nil
}

func (a *App) describeBackend(c Backend) (x backendInfo, err error) {
	x.Name, x.Doc, x.Instructions = c.Name, c.Doc, []string{}
	b, err := a.backend(c.Name)
	if err != nil {
		return x, err
	}
	for _, p := range b.Packings() {
		x.Packings = append(x.Packings, packingInfo{p.Name, packs(p)})
	}
	if x.Name == "host" {
		best, err := kernel.Best()
		if err != nil {
			return x, err
		}
		x.Chosen = best.String()
		for _, s := range kernel.Sets() {
			x.Instructions = append(x.Instructions, s.String())
		}
	}
	if c.Needs != nil {
		x.Needs = &needsInfo{}
		if x.Needs.Found, err = c.Needs(); err != nil {
			x.Needs.Missing = err.Error()
		}
	}
	if ops := opsOf(b); ops != nil {
		x.Lacks = []string{}
		for _, o := range slices.Concat(ir.CoreOps(), a.Ops) {
			if !slices.Contains(ops, o) && o != ir.Input && o != ir.Weight {
				x.Lacks = append(x.Lacks, o.Name)
			}
		}
	}
	return x, nil
}

func (a *App) printBackend(x backendInfo) {
	p := a.print
	p("%-14s %s", x.Name, x.Doc)
	for _, k := range x.Packings {
		p("  packing      %s: %s", k.Name, strings.Join(k.Types, ", "))
	}
	if x.Chosen != "" {
		p("  instructions %s, of %s", x.Chosen, strings.Join(x.Instructions, ", "))
	}
	if n := x.Needs; n != nil && n.Missing != "" {
		p("  missing      %s", n.Missing)
	} else if n != nil {
		p("  runs on      %s", n.Found)
	}
	switch {
	case x.Lacks == nil:
		p("  lacks        not listed")
	case len(x.Lacks) > 0:
		p("  lacks        %s", strings.Join(x.Lacks, ", "))
	}
}

// packs lists the types of matrices that a packing takes.
func packs(p lower.Packing) []string {
	types := []string{}
	for d := ir.F32; d.String() != ir.Invalid.String(); d++ {
		if !d.Float() && !d.Encoded() {
			continue
		}
		if _, err := p.Size(ir.Tensor(d, ir.N(256), ir.N(256))); err == nil {
			types = append(types, d.String())
		}
	}
	return types
}

// opsOf lists the operators of a backend; nil where it does not.
func opsOf(b lower.Backend) []*ir.Op {
	if l, ok := b.(interface{ Ops() []*ir.Op }); ok {
		return l.Ops()
	}
	return nil
}
