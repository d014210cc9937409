package kernel

// A vecSet says which row kernels run: those of an instruction set by the f32
// lanes of its vectors. Its method run calls one by name, so that the arguments
// may lie on the stack.
type vecSet struct{ lanes int }

const (
	lanesAVX512 = 16
	lanesAVX2   = 8
	lanesNEON   = 4
)

// vecArgs are the arguments of a row kernel, which changes none. Assembly takes a
// slice for its address and trusts that what the numbers say lies within. dst may
// be an operand, not overlap one otherwise.
type vecArgs struct {
	dst, dst2, x, y []float32
	bytes, scales   []byte
	index           []int32
	freq            []float64
	n, rows, heads  int // at least 1; n is the elements of a row

	// Bytes from a row to the next, also of those that index names, from a head to
	// the next, and from past the last head to the first.
	dstStride, xStride, yStride, bytesStride, scalesStride int
	indexStride, headStride, headsBack                     int
	tapStride, tapsBack                                    int // of y

	a, b             float32
	mean, eps, scale float64
}

// A vecKernel is a kernel of the generator's. Those of rows say so; others take
// n elements.
type vecKernel int

const (
	vecAdd       vecKernel = iota // rows: dst = x + y; and so on
	vecAddColumn                  // rows: dst = x + the first of y; and so on
	vecSub
	vecSubColumn
	vecMul
	vecMulColumn
	vecDiv
	vecDivColumn
	vecAffine       // dst = x*a + b
	vecClamp        // dst = x within a and b
	vecSiLU         // dst = x*sigmoid(x)
	vecSiLUMul      // rows: dst = x*sigmoid(x)*y
	vecSigmoid      // dst = sigmoid(x)
	vecSoftmax      // rows, of x
	vecRMSNorm      // rows: dst = x * y / sqrt(mean * sum of x² + eps)
	vecSum          // rows: the first of dst = sum of x
	vecQuantize     // rows: bytes = codes of x, scales = their scale, infinite where x is not finite
	vecConv         // rows: dst += x*y of each tap, of which heads has the number
	vecScatterAdd   // rows: row index[i] of dst += x * the first of y
	vecScatterAhead // the same, where one more index follows: it fetches rows before their turn
	vecRotateHalves // rows: heads of n pairs of x and y, to dst and dst2, by index[i]*freq quarter turns times scale
	vecRotatePairs  // rows: heads of pairs in x: freq is that of each element, negative of each first
	vecEncodeBF16   // bytes = x
	vecEncodeF16
	vecDecodeBF16 // dst = bytes
	vecDecodeF16
)

// vecMost is how many elements one call takes, or else one row: well below 100
// microseconds, in which assembly cannot be preempted.
const vecMost = 1 << 14

// flat runs a kernel of the elements of x, and as many of dst and, where there is one, y.
func (v *vecSet) flat(k vecKernel, args *vecArgs) {
	args.rows, args.n = 1, len(args.x)
	if args.n <= vecMost {
		if args.n > 0 {
			v.run(k, args)
		}
		return
	}
	a := *args // what is set through a pointer would escape
	for left := len(a.x); left > 0; left -= a.n {
		a.n = min(left, vecMost)
		v.run(k, &a)
		a.dst, a.x, a.y = past(a.dst, a.n), past(a.x, a.n), past(a.y, a.n)
	}
}

// rowwise runs a kernel of args.rows rows of args.n elements.
func (v *vecSet) rowwise(k vecKernel, args *vecArgs) {
	if args.n == 0 || args.rows == 0 {
		return
	}
	most := max(1, vecMost/(args.n*max(args.heads, 1)))
	if args.rows <= most {
		v.run(k, args)
		return
	}
	a := *args
	for left := a.rows; left > 0; left -= a.rows {
		a.rows = min(left, most)
		v.run(k, &a)
		if left > a.rows {
			a.dst, a.dst2 = past(a.dst, a.rows*a.dstStride/4), past(a.dst2, a.rows*a.dstStride/4)
			a.x, a.y = past(a.x, a.rows*a.xStride/4), past(a.y, a.rows*a.yStride/4)
			a.index = past(a.index, a.rows)
		}
	}
}

// past returns what stands past the first n elements, nothing of nothing.
func past[E any](x []E, n int) []E {
	if x == nil {
		return nil
	}
	return x[n:]
}
