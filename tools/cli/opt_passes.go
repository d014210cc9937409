package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"estream/ir"
	"estream/passes"
	"estream/runtime"
	"estream/tools/pack"
)

// optSettings are the flags of what passes need to know.
type optSettings struct {
	encoding             string
	kinds                [4]string
	exact                string
	backend, activations string
}

func (s *optSettings) flags(fl *pflag.FlagSet, backends []string) {
	fl.StringVar(&s.encoding, "encoding", pack.Encodings[0].Name, "quantize: what weights become, as pack has it")
	for i, k := range weightKinds() {
		fl.StringVar(&s.kinds[i], k, "", "quantize: what "+k+" weights become instead: exact, f32, bf16, w8, w4g32, ...")
	}
	fl.StringVar(&s.exact, "exact", "", "quantize: the type of what stays exact: f32, f16 or bf16 (default: the one it has)")
	fl.StringVar(&s.backend, "backend", "host", "layout and legalize: whose programs will run it: "+strings.Join(backends, ", "))
	fl.StringVar(&s.activations, "activations", ir.A8.String(), "legalize: what the host multiplies encoded weights by: a8, a8g128 or none")
}

// An optimizer is the passes as they were set, and what they report.
type optimizer struct {
	pack, open []passes.Pass
	report     *passes.Report
}

func (a *App) newOptimizer(s optSettings) (*optimizer, error) {
	policy, err := s.policy()
	if err != nil {
		return nil, err
	}
	target, err := a.target(s)
	if err != nil {
		return nil, err
	}
	packing, err := a.packing(s.backend)
	if err != nil {
		return nil, err
	}
	o := &optimizer{report: &passes.Report{}}
	target.Report = o.report
	o.pack, o.open = passes.Pack(policy, packing, o.report), passes.Open(target)
	return o, nil
}

func (s optSettings) policy() (passes.Policy, error) {
	e, err := packEncoding(s.encoding, s.kinds)
	p := passes.Policy{Experts: e.Experts, Attention: e.Attention, Head: e.Head, Embed: e.Embed}
	if err != nil || s.exact == "" {
		return p, err
	}
	d, err := ir.ParseDType(s.exact)
	if err != nil || !d.Float() {
		return p, usagef("--exact %s: use f32, f16 or bf16", s.exact)
	}
	p.Exact = func(string, string) ir.DType { return d }
	return p, nil
}

// target is what legalize is to legalize for: as a package is opened.
func (a *App) target(s optSettings) (passes.Target, error) {
	b, err := a.backend(s.backend)
	if err != nil {
		return passes.Target{}, err
	}
	t := passes.Target{Host: b}
	if d, ok := b.(runtime.Device); ok {
		t = d.Target(a.host())
	}
	if s.activations == "none" {
		return t, nil
	}
	d, err := ir.ParseDType(s.activations)
	if err != nil || !d.Activation() {
		return t, usagef("--activations %s: use a8, a8g128 or none", s.activations)
	}
	t.Activation = func(ir.DType) ir.DType { return d }
	return t, nil
}

func (o *optimizer) all() []passes.Pass { return slices.Concat(o.pack, o.open) }

// choose returns the passes of these names; without names, those that lie ahead
// of m.
func (o *optimizer) choose(names []string, m *ir.Module) ([]passes.Pass, error) {
	if len(names) == 0 {
		if len(m.Layers) > 0 && m.Graph(m.Layers[0]) == nil {
			return o.open, nil // layers are classes
		}
		return o.all(), nil
	}
	var ps []passes.Pass
	for _, n := range names {
		switch n {
		case "pack":
			ps = append(ps, o.pack...)
		case "open":
			ps = append(ps, o.open...)
		default:
			one, err := passes.Select(o.all(), n)
			if err != nil {
				return nil, usageError{fmt.Errorf("--passes: %w; or pack, open", err)}
			}
			ps = append(ps, one...)
		}
	}
	return ps, nil
}

// outOfOrder returns the constraints that the order of ps breaks.
func outOfOrder(ps []passes.Pass) []passes.Constraint {
	at := func(name string) int { return slices.IndexFunc(ps, func(p passes.Pass) bool { return p.Name == name }) }
	return slices.DeleteFunc(passes.Constraints(), func(c passes.Constraint) bool {
		return at(c.After) < 0 || at(c.Before) < at(c.After)
	})
}

// listPasses prints the passes, in order.
func (a *App) listPasses(o *optimizer, asJSON bool) error {
	type order struct {
		Pass string `json:"pass"`
		Why  string `json:"why"`
	}
	type pass struct {
		Name  string  `json:"name"`
		List  string  `json:"list"` // pack or open
		Doc   string  `json:"doc"`
		After []order `json:"after"` // passes that must come before it
	}
	list := []pass{}
	for i, p := range o.all() {
		x := pass{p.Name, "pack", p.Doc, []order{}}
		if i >= len(o.pack) {
			x.List = "open"
		}
		for _, c := range passes.Constraints() {
			if c.After == p.Name {
				x.After = append(x.After, order{c.Before, c.Why})
			}
		}
		list = append(list, x)
	}
	if asJSON {
		return a.printJSON(map[string]any{"passes": list})
	}
	for _, x := range list {
		fmt.Fprintf(a.Stdout, "%-5s %-15s %s\n", x.List, x.Name, x.Doc)
		for _, o := range x.After {
			fmt.Fprintf(a.Stdout, "%-21s after %s: %s\n", "", o.Pass, o.Why)
		}
	}
	return nil
}
