package main

func softmax(v *vec) {
	p := v.floats("dst", "x")
	v.rows(func() {
		top, dead := v.reg(), v.reg()
		v.set(dead, lowest)
		v.set(top, dead)
		v.each(func() {
			x := v.reg()
			v.load(x, p[1], dead)
			v.op("max", top, top, x)
		}, p[1])
		sum := v.total()
		v.reduce("max", top, sum.a)
		v.each(func() {
			x, e, n := v.reg(), v.reg(), v.reg()
			v.load(x, p[1], dead)
			v.op("sub", x, x, top)
			v.exp(e, x, n)
			v.store(p[0], e)
			v.addTo(sum, e, false)
		}, p...)
		v.sumOf(sum)
		v.narrow(top, sum.low, sum.low)
		v.each(func() {
			x := v.reg()
			v.load(x, p[0])
			v.op("div", x, x, top)
			v.store(p[0], x)
		}, p[0])
	}, p...)
}

func rmsNorm(v *vec) {
	p := v.floats("dst", "x", "y")
	v.rows(func() {
		sum, inverse := v.total(), v.reg()
		v.each(func() {
			x := v.reg()
			v.load(x, p[1])
			v.addTo(sum, x, true)
		}, p[1])
		mean := v.sumOf(sum)
		v.field(sum.a, "mean", 8)
		v.op("mul.d", mean, mean, sum.a)
		v.field(sum.a, "eps", 8)
		v.op("add.d", mean, mean, sum.a)
		v.inverseRoot(inverse, mean)
		v.each(func() {
			x, gain := v.reg(), v.reg()
			v.load(x, p[1])
			v.op("mul", x, x, inverse)
			v.load(gain, p[2])
			v.op("mul", x, x, gain)
			v.store(p[0], x)
		}, p...)
	}, p[:2]...)
}

func sumRows(v *vec) {
	p := v.floats("dst", "x")
	v.rows(func() {
		sum := v.total()
		v.each(func() {
			x := v.reg()
			v.load(x, p[1])
			v.addTo(sum, x, false)
		}, p[1])
		v.sumOf(sum)
		v.narrow(sum.low, sum.low, sum.high)
		v.storeOne(p[0], sum.low)
	}, p...)
}

// quantize gives a row that is not finite an infinite scale.
func quantize(v *vec) {
	codes, x, scales := v.pointer("bytes", 1), v.pointer("x", 4), v.pointer("scales", 4)
	v.rows(func() {
		top, inverse, finite, zero := v.reg(), v.reg(), v.reg(), v.reg()
		v.set(top, whole(0))
		v.each(func() {
			a := v.reg()
			v.load(a, x)
			v.op("and", a, a, absolute)
			v.op("max.i", top, top, a) // bits without sign order as magnitudes do
		}, x)
		v.reduce("max.i", top, zero)
		v.op("min.i", top, top, infinity) // no NaN
		v.op("div", top, top, single(127))
		v.set(zero, single(1))
		v.op("div", inverse, zero, top)
		v.op("sub.i", finite, inverse, infinity) // negative if it is
		v.set(zero, whole(0))
		v.choose(inverse, finite, inverse, zero, false)
		v.choose(top, finite, top, zero, false)
		v.storeOne(scales, top)
		v.each(func() {
			a := v.reg()
			v.load(a, x)
			v.op("mul", a, a, inverse)
			v.toInt(a, a)
			v.store8(codes, a)
		}, codes, x)
	}, codes, x, scales)
}

// rotateHalves turns the pairs of x and y.
func rotateHalves(v *vec) {
	p, freq, pos := v.floats("dst", "x", "dst2", "y"), v.pointer("freq", 8), v.pointer("index", 4)
	p[2].stride = p[0].stride
	v.rotate(p, freq, pos, func(sin, cos operand) {
		x, y, z := v.reg(), v.reg(), v.reg()
		v.load(x, p[1])
		v.load(y, p[3])
		v.op("mul", z, x, cos)
		v.op("fnma", z, y, sin)
		v.store(p[0], z)
		v.op("mul", y, y, cos)
		v.op("fma", y, x, sin)
		v.store(p[2], y)
	})
}

// rotatePairs turns the pairs of lanes 2i and 2i+1; the angle of the first is negative.
func rotatePairs(v *vec) {
	p, freq, pos := v.floats("dst", "x"), v.pointer("freq", 8), v.pointer("index", 4)
	v.rotate(p, freq, pos, func(sin, cos operand) {
		x, y := v.reg(), v.reg()
		v.load(x, p[1])
		v.swap(y, x)
		v.op("mul", x, x, cos)
		v.op("fma", x, y, sin)
		v.store(p[0], x)
	})
}

// rotate computes the sine and cosine of a vector of angles once for all heads.
func (v *vec) rotate(p []*pointer, freq, pos *pointer, turn func(sin, cos operand)) {
	v.rows(func() {
		at := v.reg()
		v.broadcastInt(at, pos)
		v.each(func() {
			sin, cos := v.sincos(at, freq)
			v.times("heads", func() {
				turn(sin, cos)
				for _, p := range p {
					v.step(p, "headStride")
				}
			})
			for _, p := range p {
				v.step(p, "headsBack")
			}
		}, append([]*pointer{freq}, p...)...)
		v.skip(pos, 4)
	}, p...)
}
