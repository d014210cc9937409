package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Dims binds symbols to extents.
type Dims map[string]int

// Of returns the extent of d, or an error for a symbol that is not bound.
func (m Dims) Of(d Dim) (int, error) {
	if d.Sym == "" {
		return d.N, nil
	}
	n, ok := m[d.Sym]
	if !ok {
		return 0, fmt.Errorf("extent %s is not bound", d)
	}
	return n + d.N, nil
}

// Bind returns t with its symbols replaced by numbers.
func (m Dims) Bind(t Type) (Type, error) {
	out := t
	out.Dims, out.Parts = nil, nil
	for _, d := range t.Dims {
		n, err := m.Of(d)
		if err != nil {
			return out, fmt.Errorf("type %s: %w", t, err)
		}
		out.Dims = append(out.Dims, N(n))
	}
	for _, p := range t.Parts {
		b, err := m.Bind(p)
		if err != nil {
			return out, err
		}
		out.Parts = append(out.Parts, b)
	}
	return out, nil
}

// Match binds the symbols of want so that it becomes got, whose extents are
// numbers; it is an error if they cannot be equal.
func (m Dims) Match(want, got Type) error {
	if want.DType != got.DType || want.Kind != got.Kind || len(want.Dims) != len(got.Dims) || len(want.Parts) != len(got.Parts) {
		return fmt.Errorf("type is %s, want %s%s", got, want, m)
	}
	for i, w := range want.Dims {
		n := got.Dims[i].N
		old, bound := m[w.Sym]
		switch {
		case w.Sym == "" && w.N == n, bound && old+w.N == n:
		case w.Sym != "" && !bound && n >= w.N:
			m[w.Sym] = n - w.N
		default:
			return fmt.Errorf("type is %s, want %s%s", got, want, m)
		}
	}
	for i := range want.Parts {
		if err := m.Match(want.Parts[i], got.Parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// String lists what is bound, for errors: " with S=8 T=3".
func (m Dims) String() string {
	var b strings.Builder
	for _, sym := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, " %s=%d", sym, m[sym])
	}
	if b.Len() == 0 {
		return ""
	}
	return " with" + b.String()
}
