package page

import (
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/models"
	"estream/passes"
	"estream/tools/pack"
)

// A stage is a module after a pass.
type stage struct {
	name, doc string
	module    *ir.Module
	from      map[*ir.Value]*ir.Value // of the stage before, by what they became; nil in the first
	made      map[*ir.Value]bool      // by the pass, of what from has
}

// stages returns the module after each pass, from the family's to what the host
// runs, and which of them the package stores. The first ones are lowered once more
// from the package's config.json; note says why they are missing.
func (s Source) stages(stored *ir.Module) (all []stage, at int, note string) {
	all, err := s.relower(stored)
	if err != nil {
		note = fmt.Sprintf("The stages before the stored one cannot be shown: %v.", err)
		all = []stage{{name: "stored", doc: "the graphs as the package has them", module: stored}}
	}
	at = len(all) - 1
	t := passes.Target{Host: s.Host, Activation: s.activation()}
	all, err = run(all, passes.Open(t))
	if err != nil {
		note += fmt.Sprintf(" The host cannot run this package: %v.", err)
	}
	return all, at, note
}

// relower builds the family's module and runs the passes of packing, which must
// end in stored.
func (s Source) relower(stored *ir.Module) ([]stage, error) {
	c, err := models.ReadConfig(s.Manifest.Config)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(s.Families, func(f models.Family) bool { return f.Name == s.Manifest.Family })
	if i < 0 {
		return nil, fmt.Errorf("this program lacks the family %s", s.Manifest.Family)
	}
	built, err := models.Build(s.Families[i], c)
	if err != nil {
		return nil, err
	}
	p, err := s.encodings()
	if err != nil {
		return nil, err
	}
	first := stage{name: "family", doc: s.Families[i].Name + " as built from config.json: a graph a layer, all weights in f32", module: built}
	all, err := run([]stage{first}, passes.Pack(p, s.Packing, nil))
	if err != nil {
		return nil, err
	}
	if all[len(all)-1].module.String() != stored.String() {
		return nil, fmt.Errorf("lowering config.json again gives other graphs: another version packed it, or with choices of its own")
	}
	return all, nil
}

// run adds a stage for each pass, until one fails.
func run(all []stage, ps []passes.Pass) ([]stage, error) {
	for _, p := range ps {
		st, err := step(all[len(all)-1].module, p)
		if err != nil {
			return all, err
		}
		all = append(all, st)
	}
	return all, nil
}

// encodings reads what the manifest's policy says back into the policy of quantize.
func (s Source) encodings() (passes.Policy, error) {
	var p passes.Policy
	exact := map[string]ir.DType{}
	for _, kv := range s.Manifest.Policy {
		if kv.Key == "encoding" {
			if err := named(&p, kv.Value); err != nil {
				return p, err
			}
			continue
		}
		name, why, _ := strings.Cut(kv.Value, ":")
		if d, err := ir.ParseDType(name); err == nil && strings.Contains(why, ", exact") {
			exact[kv.Key] = d
		}
	}
	p.Exact = func(_, weight string) ir.DType { return exact[weight] }
	return p, nil
}

// named sets p to what an encoding's name says: w8,experts=w4g32,head=exact.
func named(p *passes.Policy, name string) error {
	first, more, _ := strings.Cut(name, ",")
	e, err := pack.FindEncoding(first)
	if err != nil {
		return err
	}
	p.Experts, p.Attention, p.Head, p.Embed = e.Experts, e.Attention, e.Head, e.Embed
	kinds := map[string]*ir.DType{"experts": &p.Experts, "attention": &p.Attention, "head": &p.Head, "embed": &p.Embed}
	for _, part := range strings.FieldsFunc(more, func(r rune) bool { return r == ',' }) {
		kind, to, _ := strings.Cut(part, "=")
		d, err := pack.ParseKind(kind, to)
		if err != nil {
			return err
		}
		if kinds[kind] == nil {
			return fmt.Errorf("encoding %q: unknown kind %q", name, kind)
		}
		*kinds[kind] = d
	}
	return nil
}

// activation is what the host quantizes activations to: what the policy says.
func (s Source) activation() func(ir.DType) ir.DType {
	d := ir.A8
	for _, kv := range s.Manifest.Policy {
		name, _, _ := strings.Cut(kv.Value, ":")
		if x, err := ir.ParseDType(name); kv.Key == "activations" && err == nil && x.Activation() {
			d = x
		}
	}
	return func(ir.DType) ir.DType { return d }
}
