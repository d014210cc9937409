package passes

import (
	"fmt"
	"strings"

	"estream/ir"
)

// canonicalize puts every graph and body into one form.
func canonicalize(m *ir.Module) error {
	for _, g := range m.Graphs {
		simplify(g)
		for _, v := range g.Values {
			if v.Body != nil {
				simplify(v.Body)
			}
		}
		g.Renumber()
	}
	return nil
}

func simplify(g *ir.Graph) {
	order(g)
	f := folder{written: overwritten(g), output: setOf(g.Outputs...), to: map[*ir.Value]*ir.Value{}, seen: map[string]*ir.Value{}}
	kept := g.Values[:0]
	for _, v := range g.Values {
		if !f.fold(v) {
			kept = append(kept, v)
		}
	}
	g.Values = kept
	for i, o := range g.Outputs {
		g.Outputs[i] = f.survivor(o)
	}
	order(g)
}

// A folder replaces values by earlier ones that are equal.
type folder struct {
	written, output set
	to              map[*ir.Value]*ir.Value // what stands for a value that was removed
	seen            map[string]*ir.Value    // by key
}

func (f *folder) survivor(v *ir.Value) *ir.Value {
	if r := f.to[v]; r != nil {
		return r
	}
	return v
}

// fold reports whether an earlier value now stands for v.
func (f *folder) fold(v *ir.Value) bool {
	for i, a := range v.Args {
		v.Args[i] = f.survivor(a)
	}
	f.skipReshape(v)
	r := f.equal(v)
	if r == nil || !f.mayReplace(v, r) {
		return false
	}
	if r.Name == "" {
		r.Name = v.Name
	}
	f.to[v], f.output[r] = r, f.output[r] || f.output[v]
	return true
}

// skipReshape lets a reshape of a reshape read what the first one reads.
func (f *folder) skipReshape(v *ir.Value) {
	if v.Op == ir.Reshape && v.Args[0].Op == ir.Reshape && !f.written[v.Args[0].Args[0]] {
		v.Args[0] = v.Args[0].Args[0]
	}
}

// equal returns an earlier value that v equals, or nil. Affine by 1 and 0 counts,
// though it turns -0 into 0.
func (f *folder) equal(v *ir.Value) *ir.Value {
	if v.Op == ir.Reshape || v.Op == ir.Affine && v.Attr == (ir.AffineAttr{Mul: 1}) {
		if v.Type.Equal(v.Args[0].Type) {
			return v.Args[0]
		}
	}
	if isSource(v) || v.Overwrites() != nil || v.Body != nil {
		return nil
	}
	k := key(v)
	if f.seen[k] == nil {
		f.seen[k] = v
		return nil
	}
	return f.seen[k]
}

// key is the same for values of the same op, type, attribute and operands.
func key(v *ir.Value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %#v %s", v.Op, v.Attr, v.Type)
	for _, a := range v.Args {
		fmt.Fprintf(&b, " %d", a.ID)
	}
	return b.String()
}

// mayReplace reports whether r can stand for v: neither is written over, and the
// outputs keep their names and their own memory.
func (f *folder) mayReplace(v, r *ir.Value) bool {
	if f.written[v] || f.written[r] {
		return false
	}
	return !f.output[v] || !f.output[r] && !isSource(r) && (v.Name == "" || r.Name == "")
}
