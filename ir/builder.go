package ir

import (
	"fmt"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
)

// A Builder appends values to one graph. It keeps the first error, with the file
// and line of the family that called it; later calls do nothing and return
// values that are safe to pass on. So a family reads as straight-line
// arithmetic, and Finish reports the error once.
type Builder struct {
	g      *Graph
	params map[string]Type
	prefix string // of weight names, within an expert's body
	err    *error
}

// A Step is the values that say which tokens a step holds. Tokens of all
// sequences stand one after another; nothing is padded.
type Step struct {
	Pos    *Value // i32[T]: the position of each token in its sequence
	Seq    *Value // i32[B+1]: tokens Seq[b] to Seq[b+1]-1 are sequence b's
	Past   *Value // i32[B]: rows of growing states that sequence b holds before the step
	Base   *Value // i32[B]: the first of sequence b's rows in growing states
	Parent *Value // i32[B]: the sequence whose first Pos[Seq[b]]-Past[b] rows stand before b's own; -1: none
}

// NewBuilder returns a Builder for an empty graph. Weights are looked up in params.
func NewBuilder(graph string, params map[string]Type) *Builder {
	return &Builder{g: &Graph{Name: graph}, params: params, err: new(error)}
}

// Finish returns the graph, verified, or the first error.
func (b *Builder) Finish(outputs ...*Value) (*Graph, error) {
	if *b.err != nil {
		return nil, *b.err
	}
	b.g.Outputs = outputs
	return b.g, b.g.Verify()
}

// Fail records err as the builder's error unless it has one.
func (b *Builder) Fail(err error) {
	if *b.err == nil {
		*b.err = fmt.Errorf("%s: %w", family(), err)
	}
}

// family returns the file and line of the innermost caller outside this package
// and the blocks that families share.
func family() string {
	pc := make([]uintptr, 32)
	frames := goruntime.CallersFrames(pc[:goruntime.Callers(3, pc)])
	for {
		f, more := frames.Next()
		shared := strings.HasPrefix(f.Function, "estream/ir.") || strings.HasPrefix(f.Function, "estream/models.")
		if !shared || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
}

// Op appends an op; it is how operators from outside this package are built.
func (b *Builder) Op(op *Op, attr any, args ...*Value) *Value {
	return b.add(op, Type{}, attr, args...)
}

func (b *Builder) add(op *Op, declared Type, attr any, args ...*Value) *Value {
	if *b.err != nil {
		return &Value{Op: op}
	}
	if slices.Contains(args, nil) {
		b.Fail(fmt.Errorf("graph %s: %s: an operand is nil", b.g.Name, op))
		return &Value{Op: op}
	}
	v, err := b.g.Add(op, declared, attr, args...)
	if err != nil {
		b.Fail(err)
		return &Value{Op: op}
	}
	return v
}

// Named gives v a name, by which runtime taps and tests find it; a name that is
// taken gets a number behind it.
func (b *Builder) Named(name string, v *Value) *Value {
	v.Name = ""
	for n, s := 2, name; v.Name == ""; n++ {
		if b.g.Value(s) == nil {
			v.Name = s
		}
		s = fmt.Sprintf("%s.%d", name, n)
	}
	return v
}

// Input declares a value that the caller gives.
func (b *Builder) Input(name string, t Type) *Value { return b.Named(name, b.add(Input, t, nil)) }

// Step declares the inputs of a step.
func (b *Builder) Step() Step {
	in := func(name string, d Dim) *Value { return b.Input(name, Tensor(I32, d)) }
	return Step{in("pos", T), in("seq", Dim{Sym: "B", N: 1}), in("past", B), in("base", B), in("parent", B)}
}

// Weight returns the weight of a name in the family's table, the same value each time.
func (b *Builder) Weight(name string) *Value {
	name = b.prefix + name
	if v := b.g.Value(name); v != nil {
		return v
	}
	t, ok := b.params[name]
	if !ok {
		b.Fail(fmt.Errorf("graph %s: no weight %q in the family's table", b.g.Name, name))
	}
	return b.Named(name, b.add(Weight, t, WeightAttr{}))
}

// Linear is x times the transpose of the weight "<name>.weight"; the result is named name.
func (b *Builder) Linear(x *Value, name string) *Value {
	return b.Named(b.prefix+name, b.Op(MatMul, nil, x, b.Weight(name+".weight")))
}

// RMSNorm normalizes the last axis with the gain "<name>.weight"; the result is named name.
func (b *Builder) RMSNorm(x *Value, name string, eps float64) *Value {
	return b.Named(b.prefix+name, b.Op(RMSNorm, EpsAttr{eps}, x, b.Weight(name+".weight")))
}

// The methods from here to Reshape append the op of their name; Op.Doc says what
// the result is.

// Embed appends Embed.
func (b *Builder) Embed(table, ids *Value) *Value { return b.Op(Embed, nil, table, ids) }

// Add appends Add; y may be a vector or a column.
func (b *Builder) Add(x, y *Value) *Value { return b.Op(Add, nil, x, y) }

// Sub appends Sub; y as in Add.
func (b *Builder) Sub(x, y *Value) *Value { return b.Op(Sub, nil, x, y) }

// Mul appends Mul; y as in Add.
func (b *Builder) Mul(x, y *Value) *Value { return b.Op(Mul, nil, x, y) }

// Div appends Div; y as in Add.
func (b *Builder) Div(x, y *Value) *Value { return b.Op(Div, nil, x, y) }

// Affine appends Affine: x*mul + add.
func (b *Builder) Affine(x *Value, mul, add float64) *Value {
	return b.Op(Affine, AffineAttr{mul, add}, x)
}

// Sum appends Sum, over the last axis.
func (b *Builder) Sum(x *Value) *Value { return b.Op(Sum, nil, x) }

// SiLU appends SiLU.
func (b *Builder) SiLU(x *Value) *Value { return b.Op(SiLU, nil, x) }

// Sigmoid appends Sigmoid.
func (b *Builder) Sigmoid(x *Value) *Value { return b.Op(Sigmoid, nil, x) }

// Softmax appends Softmax, over the last axis.
func (b *Builder) Softmax(x *Value) *Value { return b.Op(Softmax, nil, x) }

// Clamp appends Clamp: x held within ±limit.
func (b *Builder) Clamp(x *Value, limit float64) *Value { return b.Op(Clamp, LimitAttr{limit}, x) }

// Slice appends Slice: elements from..to-1 of the last axis.
func (b *Builder) Slice(x *Value, from, to int) *Value { return b.Op(Slice, SliceAttr{from, to}, x) }

// Concat appends Concat, along the last axis.
func (b *Builder) Concat(xs ...*Value) *Value { return b.Op(Concat, nil, xs...) }

// TopK appends TopK: the places of the k largest.
func (b *Builder) TopK(x *Value, k int) *Value { return b.Op(TopK, TopKAttr{k}, x) }

// OneHot appends OneHot: 1 at the places of n that ids names.
func (b *Builder) OneHot(ids *Value, n int) *Value { return b.Op(OneHot, OneHotAttr{n}, ids) }

// Gather appends Gather: elements of the last axis.
func (b *Builder) Gather(x, ids *Value) *Value { return b.Op(Gather, nil, x, ids) }

// Reshape appends Reshape.
func (b *Builder) Reshape(x *Value, dims ...Dim) *Value { return b.Op(Reshape, ReshapeAttr{dims}, x) }

// RoPE rotates x [T,H,D] by the step's positions.
func (b *Builder) RoPE(x *Value, s Step, a RoPEAttr) *Value { return b.Op(RoPE, a, x, s.Pos) }

// Append adds the step's rows to the parts of a growing state.
func (b *Builder) Append(state *Value, s Step, rows ...*Value) *Value {
	return b.Op(Append, InplaceAttr{0}, append([]*Value{state, s.Seq, s.Past, s.Base}, rows...)...)
}

// Attention attends q [T,H,D] over a state of keys and values that holds the
// step's own rows. window is 0 for none.
func (b *Builder) Attention(q, state *Value, s Step, scale float64, window int) *Value {
	return b.Op(Attention, AttentionAttr{scale, window}, q, state, s.Pos, s.Seq, s.Past, s.Base, s.Parent)
}

// Conv convolves x [T,D] with the weight "<name>.weight" [D,K] and returns the
// result and the state that the next step starts from.
func (b *Builder) Conv(x *Value, name string, state *Value, s Step) (y, next *Value) {
	y = b.Op(Conv, nil, x, b.Weight(name+".weight"), state, s.Seq)
	return y, b.Op(Shift, InplaceAttr{0}, state, s.Seq, x)
}

// Experts mixes, for each token of x [T,H], the experts that ids [T,k] names by
// weights [T,k]. body builds one expert on rows [R,H]; its weights are those of
// the family's table under "expert.".
func (b *Builder) Experts(x, ids, weights *Value, body func(e *Builder, x *Value) *Value) *Value {
	v := b.add(Experts, Type{}, ExpertsAttr{}, x, ids, weights)
	if *b.err != nil {
		return v
	}
	e := &Builder{g: &Graph{Name: "expert"}, params: b.params, prefix: "expert.", err: b.err}
	out := body(e, e.Input("x", Tensor(F32, R, x.Type.Last())))
	e.g.Outputs, v.Body = []*Value{out}, e.g
	b.Named("experts.ids", ids)
	b.Named("experts.weights", weights)
	return b.Named("experts", v)
}
