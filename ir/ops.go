package ir

// Attributes of the core ops.
type (
	WeightAttr  struct{ Offset int }       // bytes from the record's start; 0 until the layout pass sets it
	EpsAttr     struct{ Eps float64 }      // added to the mean square
	LimitAttr   struct{ Limit float64 }    // results lie in [-Limit, Limit]
	AffineAttr  struct{ Mul, Add float64 } // x*Mul + Add
	ReshapeAttr struct{ Dims []Dim }       // the result's extents
	SliceAttr   struct{ From, To int }     // of the last axis, To excluded
	TopKAttr    struct{ K int }            // how many are kept
	OneHotAttr  struct{ N int }            // how many places there are
	// Rotary embedding of Su et al. 2021, and what stretches it to more positions
	// (Peng et al. 2023): pair i of D/2 turns by f = Theta^(-2i/D) a position, of
	// which the share r goes at f/Factor. r rises from 0 at i = Low to 1 at High; where
	// High is not above Low, it is 1 from Low on.
	RoPEAttr struct {
		Theta       float64 // base of the frequencies
		Interleaved bool    // pairs are (2i, 2i+1); otherwise (i, i+D/2)
		Factor      float64 `ir:"omitzero"` // by which pairs turn slower; 0: none does
		Low         float64 `ir:"omitzero"`
		High        float64 `ir:"omitzero"`
		Scale       float64 `ir:"omitzero"` // multiplies the result; 0: 1
	}
	AttentionAttr struct {
		Scale  float64 // multiplies q·k
		Window int     // a position sees itself and Window-1 before it; 0: all before it
	}
	ExpertsAttr  struct{ Callee string } // the extracted expert graph; empty while the value has a body
	QuantizeAttr struct{ To DType }      // a8 or a8g128
)

// The core ops. x is the first operand; H, D, K are extents of the operand they
// stand in. All arithmetic is in float32 on logical values; interp sums in float64.
var (
	Input  = &Op{Name: "input", Doc: "a value given by the caller"}
	Weight = &Op{Name: "weight", Attr: WeightAttr{}, Doc: "a tensor bound at call time to its bytes in a record, by the value's name"}

	Embed     = &Op{Name: "embed", Operands: "ti", Infer: inferEmbed, Doc: "f32[T,H]: rows of table [U,H] picked by ids [T]"}
	MatMul    = &Op{Name: "matmul", Operands: "tt", Infer: inferMatMul, Doc: "f32[...,N]: x [...,K] times the transpose of w [N,K]; an a8 x meets an encoded w in whole numbers"}
	Add       = &Op{Name: "add", Operands: "tt", Infer: inferElementwise, Columnwise: true, Doc: "x + y; y has x's extents, or is a vector over the last axis, or has 1 there"}
	Sub       = &Op{Name: "sub", Operands: "tt", Infer: inferElementwise, Columnwise: true, Doc: "x - y, y broadcast as in add"}
	Mul       = &Op{Name: "mul", Operands: "tt", Infer: inferElementwise, Columnwise: true, Doc: "x * y, y broadcast as in add"}
	Div       = &Op{Name: "div", Operands: "tt", Infer: inferElementwise, Columnwise: true, Doc: "x / y, y broadcast as in add"}
	Affine    = &Op{Name: "affine", Operands: "t", Attr: AffineAttr{}, Infer: inferFloat, Columnwise: true, Doc: "x*mul + add"}
	Sum       = &Op{Name: "sum", Operands: "t", Infer: inferSum, Doc: "sums over the last axis, kept with extent 1"}
	SiLU      = &Op{Name: "silu", Operands: "t", Infer: inferFloat, Columnwise: true, Doc: "x * sigmoid(x)"}
	Sigmoid   = &Op{Name: "sigmoid", Operands: "t", Infer: inferFloat, Columnwise: true, Doc: "1 / (1 + exp(-x))"}
	Clamp     = &Op{Name: "clamp", Operands: "t", Attr: LimitAttr{}, Infer: inferFloat, Columnwise: true, Doc: "x held within ±limit"}
	Softmax   = &Op{Name: "softmax", Operands: "t", Infer: inferFloat, Doc: "softmax over the last axis"}
	RMSNorm   = &Op{Name: "rmsnorm", Operands: "tt", Attr: EpsAttr{}, Infer: inferNorm, Doc: "x / sqrt(mean(x²) + eps) * gain over the last axis"}
	Reshape   = &Op{Name: "reshape", Operands: "t", Attr: ReshapeAttr{}, Infer: inferReshape, Doc: "the same elements in other extents"}
	Slice     = &Op{Name: "slice", Operands: "t", Attr: SliceAttr{}, Infer: inferSlice, Doc: "elements from..to-1 of the last axis"}
	Concat    = &Op{Name: "concat", Operands: "t+", Infer: inferConcat, Doc: "operands joined along the last axis"}
	RoPE      = &Op{Name: "rope", Operands: "ti", Attr: RoPEAttr{}, Infer: inferRoPE, Doc: "x [T,H,D] rotated by position pos [T]"}
	TopK      = &Op{Name: "topk", Operands: "t", Attr: TopKAttr{}, Infer: inferTopK, Doc: "i32[...,k]: places of the k largest, largest first, ties to the lower place; NaN is an error"}
	OneHot    = &Op{Name: "onehot", Operands: "i", Attr: OneHotAttr{}, Infer: inferOneHot, Doc: "f32[...,n]: 1 at the places that ids [...,k] names, 0 elsewhere"}
	Gather    = &Op{Name: "gather", Operands: "ti", Infer: inferGather, Doc: "x[..., ids[..., j]] along the last axis"}
	Append    = &Op{Name: "append", Operands: "siiit+", Attr: InplaceAttr{}, Infer: inferAppend, Doc: "state (grow), seq, past, base, tensors: row base[b]+past[b]+i of each part becomes row i of sequence b, rounded to the part's type"}
	Attention = &Op{Name: "attention", Operands: "tsiiiii", Attr: AttentionAttr{}, Infer: inferAttention, Doc: "f32[T,H,Dv]: q [T,H,D], state (keys, values), pos [T], seq, past, base, parent: causal attention within each sequence and its parent's prefix"}
	Conv      = &Op{Name: "conv", Operands: "ttsi", Infer: inferConv, Doc: "f32[T,D]: x [T,D], taps [D,K], state (window), seq: depthwise causal convolution, the last tap on the current row"}
	Shift     = &Op{Name: "shift", Operands: "sit", Attr: InplaceAttr{}, Infer: inferShift, Doc: "state (window), seq, x [T,D]: the last rows of each sequence after x"}
	Experts   = &Op{Name: "experts", Operands: "tit", Attr: ExpertsAttr{}, Infer: inferExperts, Doc: "f32[T,H]: the sum over j of weights[t,j] * body of expert ids[t,j] on x[t]; the only routed op"}

	// Ops that passes make.
	Quantize        = &Op{Name: "quantize", Operands: "t", Attr: QuantizeAttr{}, Infer: inferQuantize, Doc: "x in int8: s = max|x|/127, q = round-half-even(x*(1/s)), in f32; a zero row has s = 0"}
	GatherRows      = &Op{Name: "gather_rows", Operands: "ti", Infer: inferGatherRows, Doc: "[R,H]: rows [R] of x [T,H]"}
	ScaleRows       = &Op{Name: "scale_rows", Operands: "tt", Infer: inferScaleRows, Doc: "row r of x [R,H] times w[r]"}
	ScatterAdd      = &Op{Name: "scatter_add", Operands: "tti", Attr: InplaceAttr{}, Infer: inferScatterAdd, Doc: "y [T,H] with row r of x [R,H] added to row rows[r], r ascending"}
	AttentionMasked = &Op{Name: "attention_masked", Operands: "tttttt", Attr: AttentionAttr{}, Infer: inferMasked, Doc: "f32[T,H,Dv]: q [T,H,D], past keys and values [S,G,..], new keys and values [T,G,..], mask [T,S+T] added to the scores: attention with memory and positions made by the host"}
	ConvPast        = &Op{Name: "conv_past", Operands: "ttt", Infer: inferConvPast, Doc: "f32[T,D]: x [T,D], taps [D,K], past rows [K-1,D]: conv of one sequence, with memory made by the host"}
)

// CoreOps returns the ops of this package. A new one needs
//
//	here             its variable, with Infer and Doc, and its place in this list; tests find one that is missing
//	ir/builder.go    a method, if families use it
//	ir/interp        a function in Core: the reference
//	lower/lowertest  cases, in one of suites
//	lower/host       a function in core, and in supports.go what it refuses; the loop in kernel
//	lower/static     nothing: a device says what it supports, as lowertest.NPU does
//	passes           nothing, unless it writes in place, keeps a state, or is routed
//
// An op of one model family need not be here: a plug-in declares it, and gives the
// interpreter and the host its functions (interp.Options.Ops, host.Options.Ops), as
// docs/adding-an-operator.md shows.
func CoreOps() []*Op {
	return []*Op{Input, Weight, Embed, MatMul, Add, Sub, Mul, Div, Affine, Sum, SiLU, Sigmoid, Clamp, Softmax, RMSNorm, Reshape, Slice, Concat,
		RoPE, TopK, OneHot, Gather, Append, Attention, Conv, Shift, Experts, Quantize, GatherRows, ScaleRows, ScatterAdd, AttentionMasked, ConvPast}
}

// Core returns the set of this package's ops together with more.
func Core(more ...*Op) (Ops, error) { return NewOps(append(CoreOps(), more...)...) }
