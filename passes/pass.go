// Package passes rewrites modules between what a family builds and what a
// backend runs.
//
// Pack is the passes from a family's module to the one that a package stores,
// Open those from there to one that a target can compile. Each pass states in
// its Doc what holds afterwards that did not before; the order is data
// (constraints), with a reason for each pair. What holds of every pass:
//
//	P1 the module verifies before and after
//	P2 on an error the module is as it was
//	P3 running it again changes nothing
//	P4 the result depends on the module and the pass's settings alone
//	P5 a value that survives keeps its name; one that is made says of what in its Origin
//
// Modules come from strangers' packages too, so what a pass finds wrong in one is
// an error, never a panic. A pass holds no memory of a module after it returns;
// it leaves new graphs and values in m, so pointers into m from before are stale.
package passes

import (
	"fmt"
	"slices"
	"strings"

	"estream/ir"
	"estream/lower"
)

// A Pass rewrites a module.
type Pass struct {
	Name string // as typed on the command line and shown in dumps
	Doc  string // one line: what holds afterwards that did not before
	Run  func(*ir.Module) error
}

// Pack returns the passes from what a family builds to what a package stores.
// What they decide is added to r, which may be nil.
func Pack(policy Policy, packing lower.Packing, r *Report) []Pass {
	return []Pass{
		pass("canonicalize", "equal graphs print equal: values in one order, numbered, no value computed twice, no reshape or affine that does nothing", canonicalize),
		pass("dce", "every value reaches an output, inputs apart", dce),
		pass("quantize", "weights have the policy's types; routers, vectors and matrices of few rows are exact", func(m *ir.Module) error { return policy.apply(m, r) }),
		pass("extract-expert", "no experts value has a body; equal bodies are one callee", func(m *ir.Module) error { return extractExperts(m, r) }),
		pass("split", "each layer is a class of phases wired by name; the head is norm and projection; the embedding's table is the rows that are used", split),
		pass("layout", "each weight has its offset in its record", func(m *ir.Module) error { return layout(m, packing) }),
	}
}

// Open returns the passes from what a package stores to what t can compile.
func Open(t Target) []Pass {
	return []Pass{
		pass("legalize", "each graph stands on a backend that supports all its values; activations are quantized where that backend wants it", t.legalize),
		pass("bind-dims", "every static graph has numbers for extents, one graph a tier", t.Tiers.bindDims),
		pass("plan-memory", "each value of a host graph that needs working memory has a slot, shared only by values that are never alive together", planMemory),
	}
}

// A Constraint is a pair of passes that must keep their order, and the reason.
type Constraint struct{ Before, After, Why string }

// Constraints returns a list of its own each time: what orders Pack and Open.
func Constraints() []Constraint { return slices.Clone(constraints) }

var constraints = []Constraint{
	{"canonicalize", "dce", "folding leaves reshapes that nothing reads"},
	{"canonicalize", "extract-expert", "bodies that differ in order or numbers only are one class"},
	{"canonicalize", "split", "layers that differ in order or numbers only are one class"},
	{"dce", "quantize", "a weight that nothing reads has no role"},
	{"dce", "extract-expert", "dead values would make equal bodies differ"},
	{"dce", "split", "dead values would be taken for a side phase"},
	{"quantize", "extract-expert", "a callee has the encodings of its weights in its types"},
	{"quantize", "split", "the router is found in a whole layer, and layers of different encodings are different classes"},
	{"extract-expert", "split", "an experts phase names its callee, and layers with different callees are different classes"},
	{"split", "layout", "a record holds the weights of a class"},
	{"layout", "legalize", "static graphs are copies, offsets included"},
	{"legalize", "bind-dims", "it makes the static graphs"},
	{"legalize", "plan-memory", "quantized activations need memory, and graphs on a device none"},
}

// pass makes run leave m alone unless it succeeds.
func pass(name, doc string, run func(*ir.Module) error) Pass {
	return Pass{name, doc, func(m *ir.Module) error {
		c := m.Clone()
		if err := run(c); err != nil {
			return err
		}
		*m = *c
		return nil
	}}
}

// Run applies ps to m. It verifies m before the first and after each, naming the
// pass that broke it, and shows observe, if set, what each leaves.
func Run(m *ir.Module, ps []Pass, observe func(after string, m *ir.Module)) error {
	if err := m.Verify(); err != nil {
		return fmt.Errorf("before the first pass: %w", err)
	}
	for _, p := range ps {
		if err := p.Run(m); err != nil {
			return fmt.Errorf("pass %s: %w", p.Name, err)
		}
		if err := m.Verify(); err != nil {
			return fmt.Errorf("pass %s broke the module: %w", p.Name, err)
		}
		if observe != nil {
			observe(p.Name, m)
		}
	}
	return nil
}

// Select returns the passes of all that names names, in the order of names.
func Select(all []Pass, names ...string) ([]Pass, error) {
	var ps []Pass
	for _, n := range names {
		i := slices.IndexFunc(all, func(p Pass) bool { return p.Name == n })
		if i < 0 {
			var known []string
			for _, p := range all {
				known = append(known, p.Name)
			}
			return nil, fmt.Errorf("no pass is named %q: there are %s", n, strings.Join(known, ", "))
		}
		ps = append(ps, all[i])
	}
	return ps, nil
}
