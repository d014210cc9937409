package main

import "math"

// A machine writes one instruction set's instructions on vectors of f32 lanes; of
// f64, a vector has half as many. Destinations come first. A field is one of
// kernel.vecArgs; field n counts the elements of a row.
//
// Past the last whole vector of a row, dead lanes are loaded as zeros, or what
// load is told, and not stored. So an element gets the same bits in any place.
type machine interface {
	walking
	memory
	arithmetic
	conversion
	begin(out *source) // what goes before the kernel's text
	end(out *source)
	limit() int // of vector registers
}

type walking interface {
	pointer(field string, size int) *pointer // to elements of size bytes, at the field's address
	advance(p *pointer, field string)        // to the next row, as many bytes on as field says
	skip(p *pointer, bytes int)
	rowOf(p, index *pointer, stride string) // p = its field + *index times the field stride
	each(body func(), ps ...*pointer)       // body for n elements of each pointer, a vector at a time
	step(p *pointer, field string)          // advance within each
	times(field string, body func())        // body as often as field says, at least once
}

type memory interface {
	load(d operand, p *pointer, dead ...operand) // of f32
	store(p *pointer, s operand)                 // of f32
	loadDouble(d operand, p *pointer, half int)  // the first or second half of a vector's f64
	load16(d operand, p *pointer, half bool)     // f16 as f32 if half, else u16 as i32
	store16(p *pointer, s operand, half bool)    // f32 as f16 if half, else the low 16 bits of i32
	store8(p *pointer, s operand)                // i32 of -128 to 127 as i8

	prefetch(p *pointer)                     // of f32
	storeOne(p *pointer, s operand)          // the first f32, at the start of the row
	broadcast(d operand, p *pointer)         // one f32, from there
	broadcastInt(d operand, p *pointer)      // one i32, from there, as f64
	field(d operand, field string, size int) // broadcast
}

// The operations of op are, of f32, add, sub, mul, div, min, max, and, or, fma
// (d += a*b), fnma (d -= a*b) and horner (d = d*a + b), these three rounded once; add.i and
// so on are of i32, add.d and so on of f64. The last operand may be a constant; of min and
// max, a NaN in it stays. Those of shift are left, right, arithmetic and left.d.
type arithmetic interface {
	set(d, s operand) // d = s, a register or a constant
	op(name string, d, a, b operand)
	shift(name string, d, a operand, n int)
	choose(d, sign, minus, plus operand, f64 bool) // d = minus where the sign bit is set, else plus
	swap(d, s operand)                             // lanes 2i and 2i+1
	reduce(name string, d, t operand)              // all lanes of d = the op of all its lanes; spoils t
	inverseRoot(d, s operand)                      // f32 of 1/sqrt(f64), of the first lane to all
	scale(d, n, t operand)                         // d *= 2^n, n whole and at most 0; spoils n and t
}

type conversion interface {
	round(d, s operand)          // to whole f32, half to even
	toInt(d, s operand)          // to i32, half to even
	widen(low, high, s operand)  // f32 to f64
	narrow(d, low, high operand) // f64 to f32; spoils high
}

// An operand is a vector register or a constant of size bytes in every lane.
type operand struct {
	reg  int
	bits uint64
	size int
}

func (o operand) constant() bool { return o.size > 0 }

func single(v float32) operand { return operand{bits: uint64(math.Float32bits(v)), size: 4} }
func double(v float64) operand { return operand{bits: math.Float64bits(v), size: 8} }
func whole(v int32) operand    { return operand{bits: uint64(uint32(v)), size: 4} }

// A pointer is the address of a row. Where a machine needs it, now is the
// register that walks along the row.
type pointer struct {
	field, stride string
	base, now     string
	size          int
}

// A vec is a kernel in the making.
type vec struct {
	machine
	used, most int // vector registers, now and ever
}

// reg returns a vector register, free again at the end of the body it is taken in.
func (v *vec) reg() operand {
	v.used++
	v.most = max(v.most, v.used)
	return operand{reg: v.used - 1}
}

func (v *vec) body(f func()) func() {
	used := v.used
	return func() {
		v.used = used
		f()
		v.used = used
	}
}

func (v *vec) each(body func(), ps ...*pointer) { v.machine.each(v.body(body), ps...) }

func (v *vec) times(field string, body func()) { v.machine.times(field, v.body(body)) }

// rows runs body for every row and moves ps from one row to the next.
func (v *vec) rows(body func(), ps ...*pointer) {
	v.times("rows", func() {
		body()
		for _, p := range ps {
			v.advance(p, p.stride)
		}
	})
}

// floats returns pointers to f32.
func (v *vec) floats(fields ...string) []*pointer {
	ps := make([]*pointer, len(fields))
	for i, f := range fields {
		ps[i] = v.pointer(f, 4)
	}
	return ps
}

// scaleTwice is scale by two factors, as 2^n may be below the normal numbers.
func scaleTwice(m machine, d, n, t operand) {
	m.toInt(n, n)
	m.shift("arithmetic", t, n, 1)
	m.op("sub.i", n, n, t)
	for _, exponent := range []operand{t, n} {
		m.op("add.i", exponent, exponent, whole(127))
		m.shift("left", exponent, exponent, 23)
		m.op("mul", d, d, exponent)
	}
}
