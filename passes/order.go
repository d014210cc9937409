package passes

import "estream/ir"

// order sorts g's values: inputs as they stand, then depth first from the
// outputs, each value after its operands; what reaches no output comes last. A
// value that writes over an operand comes after all else that reads it.
//
// So the order of independent values does not depend on how g was written.
func order(g *ir.Graph) {
	o := orderer{readers: users(g), next: map[*ir.Value]int{}}
	for _, v := range g.Inputs() {
		o.visit(v)
	}
	for _, v := range g.Outputs {
		o.visit(v)
	}
	for _, v := range g.Values {
		o.visit(v)
	}
	g.Values = o.done
}

type orderer struct {
	readers map[*ir.Value][]*ir.Value
	next    map[*ir.Value]int // how many of a value's dependencies were visited, counted from 1
	done    []*ir.Value
}

// visit appends what root depends on, then root. It keeps its own stack, for
// graphs may be as deep as a file is long.
func (o *orderer) visit(root *ir.Value) {
	if o.next[root] > 0 {
		return
	}
	o.next[root] = 1
	for stack := []*ir.Value{root}; len(stack) > 0; {
		v := stack[len(stack)-1]
		d := o.dependency(v, o.next[v]-1)
		o.next[v]++
		switch {
		case d == nil:
			o.done, stack = append(o.done, v), stack[:len(stack)-1]
		case o.next[d] == 0:
			o.next[d] = 1
			stack = append(stack, d)
		}
	}
}

// dependency returns the i-th value that must come before v, or nil: its
// operands, then the other readers of the one it writes over.
func (o *orderer) dependency(v *ir.Value, i int) *ir.Value {
	if i < len(v.Args) {
		return v.Args[i]
	}
	if i -= len(v.Args); v.Overwrites() != nil && i < len(o.readers[v.Overwrites()]) {
		return o.readers[v.Overwrites()][i]
	}
	return nil
}
