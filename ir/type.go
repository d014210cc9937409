// Package ir is the tensor graph that every model family lowers into and every
// backend lowers from.
//
// A Graph is a straight-line SSA list: each Value is computed once, by one Op,
// from earlier Values of the same graph. There is no control flow. Memory that
// outlives a step (keys and values, a convolution's window) is a Value of a
// state type; an op that writes into an operand says so (inplace), and Verify
// refuses any later use of that operand, so data flow alone orders everything.
//
// An Op is an exported value that carries its own operands, attribute, shape
// inference and doc: a package outside this tree adds an operator by declaring
// one. Verify, String and Parse know nothing but those values, and interp and
// each backend are tables from *Op to a function.
//
// A Value, Graph or Module has no lock: one goroutine changes it at a time, any
// number may read it.
package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Dim is one extent: a number, a symbol, or a symbol plus a number (B+1).
type Dim struct {
	N   int
	Sym string
}

// N returns the constant extent n.
func N(n int) Dim { return Dim{N: n} }

// Symbols of the families and passes. The set is open: any name that starts
// with a capital letter is a symbol, bound from the shapes of a call.
var (
	T = Dim{Sym: "T"} // tokens of a step
	R = Dim{Sym: "R"} // rows routed to one expert
	S = Dim{Sym: "S"} // rows of a growing state: all that it has room for; of past.N in static forms: all that a tier has
	B = Dim{Sym: "B"} // sequences of a step
	L = Dim{Sym: "L"} // rows whose logits are asked for
	U = Dim{Sym: "U"} // distinct rows gathered from a table
	P = Dim{Sym: "P"} // output columns of one run of the head's panels
)

func (d Dim) String() string {
	switch {
	case d.Sym == "":
		return strconv.Itoa(d.N)
	case d.N != 0:
		return fmt.Sprintf("%s+%d", d.Sym, d.N)
	}
	return d.Sym
}

func parseDim(s string) (Dim, error) {
	sym, off, plus := strings.Cut(s, "+")
	if !plus && sym != "" && sym[0] >= '0' && sym[0] <= '9' {
		sym, off, plus = "", s, true
	}
	d := Dim{Sym: sym}
	if sym != "" && !isSymbol(sym) {
		return d, fmt.Errorf("bad dim %q", s)
	}
	if !plus {
		if sym == "" {
			return d, fmt.Errorf("empty dim")
		}
		return d, nil
	}
	n, err := strconv.Atoi(off)
	if err != nil || n < 0 || n > maxDim || strconv.Itoa(n) != off || sym != "" && n == 0 {
		return d, fmt.Errorf("bad dim %q", s)
	}
	d.N = n
	return d, nil
}

const maxDim = 1 << 31

func isSymbol(s string) bool {
	if s == "" || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	return strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// A StateKind says how a state's tensors change from step to step.
type StateKind uint8

const (
	NoState StateKind = iota
	Grow              // rows are added a token: keys and values [S,Hkv,D], MLA's latent [S,N]
	Window            // the last rows of each sequence are kept: [B,taps-1,D]
)

var stateKinds = [...]string{NoState: "", Grow: "grow", Window: "window"}

func (k StateKind) String() string { return stateKinds[k] }

// A Type is an element type and a shape; or, where DType is State, a kind and
// the types of the tensors that the state holds.
type Type struct {
	DType DType
	Dims  []Dim
	Kind  StateKind
	Parts []Type
}

// Tensor returns the type of a tensor.
func Tensor(d DType, dims ...Dim) Type { return Type{DType: d, Dims: dims} }

// StateOf returns the type of a state that holds tensors of the given types.
func StateOf(k StateKind, parts ...Type) Type { return Type{DType: State, Kind: k, Parts: parts} }

func (t Type) String() string {
	if t.DType == State {
		s := make([]string, len(t.Parts))
		for i, p := range t.Parts {
			s[i] = p.String()
		}
		return t.Kind.String() + "(" + strings.Join(s, ",") + ")"
	}
	return t.DType.String() + "[" + dimsString(t.Dims) + "]"
}

func dimsString(dims []Dim) string {
	s := make([]string, len(dims))
	for i, d := range dims {
		s[i] = d.String()
	}
	return strings.Join(s, ",")
}

// Equal reports whether t and u are the same type.
func (t Type) Equal(u Type) bool {
	return t.DType == u.DType && t.Kind == u.Kind && slices.Equal(t.Dims, u.Dims) && slices.EqualFunc(t.Parts, u.Parts, Type.Equal)
}

// Rank returns the number of extents.
func (t Type) Rank() int { return len(t.Dims) }

// Last returns the last extent; the zero Dim for a type without extents.
func (t Type) Last() Dim {
	if len(t.Dims) == 0 {
		return Dim{}
	}
	return t.Dims[len(t.Dims)-1]
}

// WithLast returns t with the last extent replaced.
func (t Type) WithLast(d Dim) Type {
	if len(t.Dims) == 0 {
		return t
	}
	t.Dims = slices.Clone(t.Dims)
	t.Dims[len(t.Dims)-1] = d
	return t
}

// WithDType returns t with another element type.
func (t Type) WithDType(d DType) Type { t.DType = d; return t }

// ParseType reads what Type.String prints.
func ParseType(s string) (Type, error) {
	for k := Grow; k <= Window; k++ {
		if inner, ok := strings.CutPrefix(s, k.String()+"("); ok {
			return parseState(k, inner, s)
		}
	}
	name, inner, ok := strings.Cut(s, "[")
	if !ok || !strings.HasSuffix(inner, "]") {
		return Type{}, fmt.Errorf("bad type %q: want DTYPE[DIMS]", s)
	}
	d, err := ParseDType(name)
	if err != nil {
		return Type{}, err
	}
	dims, err := parseDims(strings.TrimSuffix(inner, "]"))
	return Tensor(d, dims...), err
}

func parseDims(s string) ([]Dim, error) {
	if s == "" {
		return nil, nil
	}
	var dims []Dim
	for _, f := range strings.Split(s, ",") {
		d, err := parseDim(f)
		if err != nil {
			return nil, err
		}
		dims = append(dims, d)
	}
	return dims, nil
}

func parseState(k StateKind, inner, whole string) (Type, error) {
	inner, ok := strings.CutSuffix(inner, ")")
	if !ok {
		return Type{}, fmt.Errorf("bad type %q: want %s(TYPES)", whole, k)
	}
	t := StateOf(k)
	for inner != "" {
		end := strings.IndexByte(inner, ']') + 1
		if end == 0 {
			return Type{}, fmt.Errorf("bad type %q", whole)
		}
		p, err := ParseType(inner[:end])
		if err != nil {
			return Type{}, err
		}
		t.Parts = append(t.Parts, p)
		rest, more := strings.CutPrefix(inner[end:], ",")
		if more == (rest == "") || !more && inner[end:] != "" {
			return Type{}, fmt.Errorf("bad type %q", whole)
		}
		inner = rest
	}
	return t, nil
}

// check reports what makes t unfit for any value: I9 of Verify.
func (t Type) check() error {
	if t.DType != State {
		return t.checkTensor()
	}
	if t.Kind == NoState || len(t.Parts) == 0 || len(t.Dims) != 0 {
		return fmt.Errorf("state type %s holds nothing", t)
	}
	for _, p := range t.Parts {
		if !p.DType.Float() || p.Rank() < 2 {
			return fmt.Errorf("state type %s: want float tensors of rank 2 or more", t)
		}
		if err := p.checkTensor(); err != nil {
			return err
		}
	}
	return nil
}

func (t Type) checkTensor() error {
	if t.DType == Invalid || t.DType >= numDTypes || t.DType == State || t.Kind != NoState || len(t.Parts) != 0 || t.Rank() > 8 {
		return fmt.Errorf("malformed type %s", t)
	}
	for _, d := range t.Dims {
		if d.N < 0 || d.N > maxDim || d.Sym == "" && d.N == 0 || d.Sym != "" && !isSymbol(d.Sym) {
			return fmt.Errorf("type %s: bad extent %s", t, d)
		}
	}
	if !t.DType.Encoded() && !t.DType.Activation() {
		return nil
	}
	if k := t.Last(); t.Rank() < 1 || k.Sym != "" || k.N%t.DType.Group(k.N) != 0 {
		return fmt.Errorf("type %s: the last extent must be a number of whole groups", t)
	}
	return nil
}
