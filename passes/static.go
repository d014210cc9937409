package passes

import (
	"cmp"
	"fmt"
	"slices"

	"estream/ir"
)

// staticForm returns g for a backend whose extents are fixed, as "<g>@static": one
// sequence a call, memory and places made by the host.
//
//	a layer's phase: the growing state and the step become inputs mask f32[T,ST] and
//	past.0, past.1, .. f32[S,..]; attention becomes attention_masked; the rows that
//	the state would take become outputs new.0, new.1, .. after the others
//	a window becomes the input past.0 f32[K-1,D], conv becomes conv_past, and the rows
//	that it convolves are the output new.0
//	an expert: x f32[R,H] is its rows, and the scaled rows are its output
//
// In it S is no longer what a state has room for, but how many rows of the past,
// real and padded, the mask has columns for: ST is S+T.
//
// It is an error if g uses a state, a step or rows in another way.
func staticForm(g *ir.Graph) (*ir.Graph, error) {
	s := g.Clone()
	s.Name = g.Name + staticSuffix
	peel := peelState
	if addsRows(s) {
		peel = peelRows
	}
	if err := peel(s); err != nil {
		return nil, fmt.Errorf("graph %s: %w", g.Name, err)
	}
	uses := s.Uses()
	s.Values = slices.DeleteFunc(s.Values, func(v *ir.Value) bool { return v.Op == ir.Input && uses[v] == 0 })
	for sym := range symbols(s) {
		if !slices.Contains([]string{"", ir.T.Sym, ir.S.Sym, ir.R.Sym, ir.L.Sym, ir.P.Sym, keys.Sym}, sym) {
			return nil, fmt.Errorf("graph %s: an input has the extent %s, which has no tiers", g.Name, sym)
		}
	}
	err := retype(s)
	s.Renumber()
	return s, err
}

// addsRows reports whether g is an expert, which adds to rows of y.
func addsRows(g *ir.Graph) bool {
	return slices.ContainsFunc(g.Values, func(v *ir.Value) bool { return v.Op == ir.ScatterAdd })
}

// peelState takes the state of s, if it has one, out of it.
func peelState(s *ir.Graph) error {
	i := slices.IndexFunc(s.Values, func(v *ir.Value) bool { return v.Op == ir.Input && v.Type.DType == ir.State })
	if i < 0 {
		return nil
	}
	state, users := s.Values[i], users(s)
	if state.Type.Kind == ir.Window {
		return peelWindow(s, state, users)
	}
	if u := users[state]; len(u) != 1 || u[0].Op != ir.Append || u[0].Args[0] != state {
		return fmt.Errorf("%s is not read by one append alone", state.Label())
	}
	next := users[state][0]
	rows := next.Args[4:]
	known, err := pastInputs(s, state, rows[0].Type.Dims[0])
	if err != nil {
		return err
	}
	mask, past := known[0], known[1:]
	if len(users[next]) == 0 {
		return fmt.Errorf("nothing attends to %s", next.Label())
	}
	for _, v := range users[next] {
		if v.Op != ir.Attention || len(past) != 2 {
			return fmt.Errorf("%s reads the state", v.Label())
		}
		v.Op, v.Origin = ir.AttentionMasked, origin("legalize", v)
		v.Args = []*ir.Value{v.Args[0], past[0], past[1], rows[0], rows[1], mask}
	}
	isNext := func(v *ir.Value) bool { return v == next }
	s.Values, s.Outputs = slices.DeleteFunc(s.Values, isNext), slices.DeleteFunc(s.Outputs, isNext)
	return returnRows(s, rows)
}

// peelWindow takes a window out of s: its rows become the input past.0, and those
// that are convolved the output new.0.
func peelWindow(s *ir.Graph, state *ir.Value, users map[*ir.Value][]*ir.Value) error {
	u := users[state]
	slices.SortFunc(u, func(a, b *ir.Value) int { return cmp.Compare(a.Op.Name, b.Op.Name) })
	if len(u) != 2 || u[0].Op != ir.Conv || u[1].Op != ir.Shift {
		return fmt.Errorf("%s is not read by one conv and one shift alone", state.Label())
	}
	conv, shift := u[0], u[1]
	if x, seq := conv.Args[0], conv.Args[3]; shift.Args[2] != x || shift.Args[1] != seq || len(users[shift]) > 0 {
		return fmt.Errorf("%s does not shift in what is convolved, or is read", shift.Label())
	}
	part := state.Type.Parts[0]
	past, err := insert(s, len(s.Inputs()), "past.0", state, ir.Input, ir.Tensor(ir.F32, part.Dims[1:]...), nil)
	if err != nil {
		return err
	}
	conv.Op, conv.Origin = ir.ConvPast, origin("legalize", conv)
	conv.Args = []*ir.Value{conv.Args[0], conv.Args[1], past}
	isShift := func(v *ir.Value) bool { return v == shift }
	s.Values, s.Outputs = slices.DeleteFunc(s.Values, isShift), slices.DeleteFunc(s.Outputs, isShift)
	return returnRows(s, conv.Args[:1])
}

// pastInputs adds the inputs mask and past.0, past.1, ... to s.
func pastInputs(s *ir.Graph, state *ir.Value, tokens ir.Dim) ([]*ir.Value, error) {
	at := len(s.Inputs())
	mask, err := insert(s, at, "mask", state, ir.Input, ir.Tensor(ir.F32, tokens, keys), nil)
	if err != nil {
		return nil, err
	}
	vs := []*ir.Value{mask}
	for i, part := range state.Type.Parts {
		v, err := insert(s, at+1+i, fmt.Sprintf("past.%d", i), state, ir.Input, part.WithDType(ir.F32), nil)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
	return vs, nil
}

// returnRows makes rows the outputs new.0, new.1, ...: copies of those that have
// to keep their names.
func returnRows(s *ir.Graph, rows []*ir.Value) error {
	for i, r := range rows {
		name := fmt.Sprintf("new.%d", i)
		if isSource(r) || slices.Contains(s.Outputs, r) {
			c, err := insert(s, len(s.Values), name, r, ir.Reshape, ir.Type{}, ir.ReshapeAttr{Dims: r.Type.Dims}, r)
			if err != nil {
				return err
			}
			r = c
		} else if s.Value(name) != nil {
			return fmt.Errorf("%s has the name of an output for the state's rows", s.Value(name).Label())
		}
		r.Name = name
		s.Outputs = append(s.Outputs, r)
	}
	return nil
}

// peelRows takes gathering and adding rows out of an expert's graph.
func peelRows(s *ir.Graph) error {
	x, rows, y, users := s.Value("x"), s.Value("rows"), s.Value("y"), users(s)
	if len(users[x]) != 1 || len(s.Outputs) != 1 {
		return fmt.Errorf("want one output, and an input x that is read once")
	}
	gather, scatter := users[x][0], s.Outputs[0]
	ends := gather.Op == ir.GatherRows && scatter.Op == ir.ScatterAdd && isSource(x) && y != nil && isSource(y)
	if !ends || scatter.Args[0] != y || !slices.Equal(users[rows], []*ir.Value{gather, scatter}) {
		return fmt.Errorf("want rows for gathering x and for adding to y, the output, and nothing else")
	}
	x.Type = gather.Type
	for _, v := range s.Values {
		replace(v.Args, gather, x)
	}
	s.Outputs[0] = scatter.Args[1]
	s.Values = slices.DeleteFunc(s.Values, func(v *ir.Value) bool { return v == gather || v == scatter })
	return nil
}
