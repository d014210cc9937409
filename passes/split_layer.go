package passes

import (
	"fmt"
	"slices"

	"estream/ir"
)

// splitLayer cuts a layer into its phases, which are named ".body", ".route" and
// so on. A value goes to
//
//	body     if experts' x needs it, or a state that the layer leaves
//	route    if experts' ids or weights need it, and it is not in body
//	tail     if it needs what experts return
//	side     otherwise: it can run while experts load
//
// A phase without values is left out. What one phase takes from another, or
// returns, has a name: t<ID> if it had none.
func splitLayer(g *ir.Graph) ([]*ir.Graph, error) {
	g.Renumber()
	routed, err := expertsOf(g)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(g.Outputs, isSource); i >= 0 {
		return nil, fmt.Errorf("it returns %s itself", g.Outputs[i].Label())
	}
	phase := phaseOfValues(g, routed)
	if err := checkOverwrites(g, phase); err != nil {
		return nil, err
	}
	outputs := crossing(g, phase)
	for _, vs := range outputs {
		for _, v := range vs {
			nameCrossing(g, v)
		}
	}
	var parts []*ir.Graph
	for _, p := range Phases() {
		members := set{}
		for v, q := range phase {
			members[v] = p == q
		}
		if c := carve(g, "."+p, members, outputs[p]); len(c.Values) > 0 {
			parts = append(parts, c)
		}
	}
	if routed != nil {
		parts = append(parts, earlyGraph(g, routed.Args[1])...)
	}
	return parts, nil
}

// expertsOf returns the experts value of a layer; nil if it is dense.
func expertsOf(g *ir.Graph) (*ir.Value, error) {
	var e *ir.Value
	for _, v := range g.Values {
		switch {
		case v.Op != ir.Experts:
		case e != nil:
			return nil, fmt.Errorf("%s and %s: a layer may have one experts value: make them one, or two layers", e.Label(), v.Label())
		case v.Body != nil:
			return nil, fmt.Errorf("%s still has its body: extract-expert comes first", v.Label())
		default:
			e = v
		}
	}
	return e, nil
}

// phaseOfValues returns the phase of each value of g but inputs and weights.
func phaseOfValues(g *ir.Graph, routed *ir.Value) map[*ir.Value]string {
	phase := map[*ir.Value]string{}
	put := func(vs set, p string) {
		for v := range vs {
			if _, taken := phase[v]; !taken && !isSource(v) {
				phase[v] = p
			}
		}
	}
	if routed == nil {
		put(setOf(g.Values...), BodyPhase)
		return phase
	}
	put(setOf(routed), ExpertsPhase)
	put(descendants(g, routed), TailPhase)
	put(bodyOf(g, routed, phase), BodyPhase)
	put(ancestors(g, routed.Args[1:]...), RoutePhase)
	put(setOf(g.Values...), SidePhase)
	return phase
}

// bodyOf returns what experts' x needs, and states that are left, whatever else
// reads what is written over on the way included. after holds what comes after.
func bodyOf(g *ir.Graph, routed *ir.Value, after map[*ir.Value]string) set {
	roots := []*ir.Value{routed.Args[0]}
	for _, o := range g.Outputs {
		if o.Type.DType == ir.State && after[o] == "" {
			roots = append(roots, o)
		}
	}
	users := users(g)
	for {
		vs, n := ancestors(g, roots...), len(roots)
		for _, v := range g.Values {
			if !vs[v] || v.Overwrites() == nil {
				continue
			}
			for _, u := range users[v.Overwrites()] {
				if !vs[u] && after[u] == "" {
					roots = append(roots, u)
				}
			}
		}
		if len(roots) == n {
			return vs
		}
	}
}

// checkOverwrites reports a value that a phase reads after an earlier phase wrote
// over it.
func checkOverwrites(g *ir.Graph, phase map[*ir.Value]string) error {
	users := users(g)
	for _, v := range g.Values {
		if v.Overwrites() == nil {
			continue
		}
		for _, u := range users[v.Overwrites()] {
			if slices.Index(Phases(), phase[u]) > slices.Index(Phases(), phase[v]) {
				return fmt.Errorf("%s is written over in phase %s, before %s in phase %s reads it", v.Overwrites(), phase[v], u.Label(), phase[u])
			}
		}
	}
	return nil
}

// crossing returns, for each phase, the values that other phases or the layer's
// caller take from it, in g's order.
func crossing(g *ir.Graph, phase map[*ir.Value]string) map[string][]*ir.Value {
	taken := setOf(g.Outputs...)
	for _, v := range g.Values {
		for _, a := range v.Args {
			taken[a] = taken[a] || phase[a] != phase[v]
		}
	}
	outputs := map[string][]*ir.Value{}
	for _, v := range g.Values {
		if p := phase[v]; p != "" && taken[v] {
			outputs[p] = append(outputs[p], v)
		}
	}
	return outputs
}

func nameCrossing(g *ir.Graph, v *ir.Value) {
	if v.Name != "" {
		return
	}
	name := fmt.Sprintf("t%d", v.ID)
	for g.Value(name) != nil {
		name += "_"
	}
	v.Name = name
}

// earlyGraph returns the slice of g from the layer's residual input to ids: x
// stands for every later value of the residual chain x, add(x, ..),
// add(add(x, ..), ..). There is none where ids still needs a state.
func earlyGraph(g *ir.Graph, ids *ir.Value) []*ir.Graph {
	e := g.Clone()
	x, chain := e.Value("x"), set{}
	if x == nil || x.Op != ir.Input || ids.Name == "" {
		return nil
	}
	for _, v := range e.Values {
		for i, a := range v.Args {
			if chain[a] {
				v.Args[i] = x
			}
		}
		chain[v] = v.Op == ir.Add && slices.Contains(v.Args, x) && v.Type.Equal(x.Type)
	}
	target := e.Value(ids.Name)
	members := ancestors(e, target)
	for v := range members {
		if v.Type.DType == ir.State || v.Op == ir.Experts {
			return nil
		}
		if isSource(v) {
			delete(members, v)
			continue
		}
		v.Origin = origin("split", v)
	}
	if len(members) == 0 {
		return nil
	}
	return []*ir.Graph{carve(e, "."+EarlyPhase, members, []*ir.Value{target})}
}
