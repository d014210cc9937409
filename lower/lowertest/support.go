package lowertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"estream/ir"
	"estream/lower"
)

// supported reports whether b runs g, a graph of m. A refusal must say what it
// is of and wrap ErrUnsupported.
func supported(t *testing.T, b lower.Backend, o Options, m *ir.Module, g *ir.Graph) bool {
	ok := true
	for _, v := range g.Values {
		if v.Op == ir.Input || v.Op == ir.Weight {
			continue
		}
		err := b.Supports(v)
		if err == nil {
			continue
		}
		ok = false
		if !errors.Is(err, lower.ErrUnsupported) {
			t.Errorf("graph %s: %s: Supports: %q does not wrap ErrUnsupported", g.Name, v, err)
		}
		for _, part := range append(operandTypes(v), v.Op.Name) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("graph %s: %s: Supports: %q does not name %q", g.Name, v, err, part)
			}
		}
	}
	if o.Prepare == nil {
		return ok
	}
	m, err := prepared(b, o, m)
	switch {
	case err == nil:
		return m.Graph(g.Name).On == stand(b)
	case !errors.Is(err, lower.ErrUnsupported):
		t.Errorf("%v\n%s", err, g)
	}
	return false
}

// stand returns what Graph.On is for b.
func stand(b lower.Backend) string {
	if b.Name() == "host" {
		return ""
	}
	return b.Name()
}

// prepared returns m as b compiles it.
func prepared(b lower.Backend, o Options, m *ir.Module) (*ir.Module, error) {
	m = m.Clone()
	if o.Prepare != nil {
		return m, o.Prepare(m)
	}
	for _, g := range m.Graphs {
		g.On = stand(b)
	}
	return m, nil
}

func operandTypes(v *ir.Value) []string {
	var s []string
	for _, a := range v.Args {
		s = append(s, a.Type.String())
	}
	return s
}

// fits reports whether packing p holds all matrices of g.
func fits(g *ir.Graph, p lower.Packing) bool {
	for _, w := range g.Weights() {
		if _, err := weightSize(g, w, p); err != nil {
			return false
		}
	}
	return true
}

// compile compiles m as the backend wants it, and returns that too.
func compile(b lower.Backend, p lower.Packing, o Options, m *ir.Module) (lower.Compiled, *ir.Module, error) {
	m, err := prepared(b, o, m)
	if err != nil {
		return nil, nil, err
	}
	x, err := b.Compile(context.Background(), m, p)
	if err != nil {
		return nil, nil, fmt.Errorf("compile: %w", err)
	}
	return x, m, nil
}

// runCall runs a program; a panic is an error.
func runCall(ctx context.Context, x lower.Compiled, graph string, c *lower.Call) error {
	return caught(func() error {
		p, err := x.Program(graph)
		if err != nil {
			return err
		}
		return p.Run(ctx, c)
	})
}

var errPanic = errors.New("panic")

// caught returns f's error, or errPanic.
func caught(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return f()
}
