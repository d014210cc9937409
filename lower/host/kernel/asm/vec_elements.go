package main

func binary(op string, column bool) func(*vec) {
	return func(v *vec) {
		p := v.floats("dst", "x", "y")
		v.rows(func() {
			y := v.reg()
			if column {
				v.broadcast(y, p[2])
			}
			v.each(func() {
				x := v.reg()
				v.load(x, p[1])
				if !column {
					v.load(y, p[2])
				}
				v.op(op, x, x, y)
				v.store(p[0], x)
			}, p...)
		}, p...)
	}
}

// conv and scatterAdd round product and sum apart. heads counts the taps.
func conv(v *vec) {
	p := v.floats("dst", "x", "y")
	v.rows(func() {
		v.each(func() {
			sum := v.reg()
			v.load(sum, p[0])
			v.times("heads", func() {
				x, y := v.reg(), v.reg()
				v.load(x, p[1])
				v.load(y, p[2])
				v.op("mul", x, x, y)
				v.op("add", sum, sum, x)
				v.step(p[1], "headStride")
				v.step(p[2], "tapStride")
			})
			v.step(p[1], "headsBack")
			v.step(p[2], "tapsBack")
			v.store(p[0], sum)
		}, p...)
	}, p[:2]...)
}

// scatterAhead fetches the row of dst that the next index names.
func scatterAhead(v *vec) {
	p, index := v.floats("dst", "x", "y", "dst"), v.pointer("index", 4)
	v.rows(func() {
		w := v.reg()
		v.broadcast(w, p[2])
		v.rowOf(p[0], index, "indexStride")
		v.skip(index, 4)
		v.rowOf(p[3], index, "indexStride")
		v.each(func() {
			v.prefetch(p[3])
			v.scatter(p, w)
		}, p[0], p[1], p[3])
	}, p[1:3]...)
}

func scatterAdd(v *vec) {
	p, index := v.floats("dst", "x", "y"), v.pointer("index", 4)
	v.rows(func() {
		w := v.reg()
		v.broadcast(w, p[2])
		v.rowOf(p[0], index, "indexStride")
		v.each(func() { v.scatter(p, w) }, p[:2]...)
		v.skip(index, 4)
	}, p[1:]...)
}

func (v *vec) scatter(p []*pointer, w operand) {
	x, y := v.reg(), v.reg()
	v.load(x, p[1])
	v.load(y, p[0])
	v.op("mul", x, x, w)
	v.op("add", x, y, x)
	v.store(p[0], x)
}

// flat is a kernel of n elements that f changes in place, given two registers
// with fields a and b.
func flat(f func(v *vec, x, a, b operand)) func(*vec) {
	return func(v *vec) {
		p, a, b := v.floats("dst", "x"), v.reg(), v.reg()
		v.field(a, "a", 4)
		v.field(b, "b", 4)
		v.each(func() {
			x := v.reg()
			v.load(x, p[1])
			f(v, x, a, b)
			v.store(p[0], x)
		}, p...)
	}
}

var affine = flat(func(v *vec, x, a, b operand) {
	v.op("mul", x, x, a)
	v.op("add", x, x, b)
})

var clamp = flat(func(v *vec, x, a, b operand) {
	v.op("min", x, b, x)
	v.op("max", x, a, x)
})

var sigmoid = flat(func(v *vec, x, a, b operand) {
	over, under := v.logistic(x)
	v.op("div", x, over, under)
})

var silu = flat(func(v *vec, x, a, b operand) {
	over, under := v.logistic(x)
	v.op("mul", over, over, x)
	v.op("div", x, over, under)
})

func siluMul(v *vec) {
	p := v.floats("dst", "x", "y")
	v.rows(func() {
		v.each(func() {
			x := v.reg()
			v.load(x, p[1])
			over, under := v.logistic(x)
			v.op("mul", over, over, x)
			v.op("div", x, over, under)
			v.load(over, p[2])
			v.op("mul", x, x, over)
			v.store(p[0], x)
		}, p...)
	}, p...)
}
