package kernel

import "estream/ir/quant"

// dotF32 is q·k: four sums by place mod 4, what is left over in the first.
func dotF32(q, k []float32) float32 {
	var s0, s1, s2, s3 float32
	for k = k[:len(q)]; len(q) >= 4 && len(k) >= 4; q, k = q[4:], k[4:] {
		s0 += float32(q[0] * k[0])
		s1 += float32(q[1] * k[1])
		s2 += float32(q[2] * k[2])
		s3 += float32(q[3] * k[3])
	}
	for i, v := range q {
		s0 += float32(v * k[i])
	}
	return (s0 + s2) + (s1 + s3)
}

// dotBF16 is dotF32 for a key in bfloat16.
func dotBF16(q []float32, k []uint16) float32 {
	var s0, s1, s2, s3 float32
	for k = k[:len(q)]; len(q) >= 4 && len(k) >= 4; q, k = q[4:], k[4:] {
		s0 += float32(q[0] * quant.FromBF16(k[0]))
		s1 += float32(q[1] * quant.FromBF16(k[1]))
		s2 += float32(q[2] * quant.FromBF16(k[2]))
		s3 += float32(q[3] * quant.FromBF16(k[3]))
	}
	for i, v := range q {
		s0 += float32(v * quant.FromBF16(k[i]))
	}
	return (s0 + s2) + (s1 + s3)
}

// mixF32 multiplies out by fall and adds w[i] times row at[i] of values, i
// ascending, four columns at a time.
func mixF32(out, w []float32, fall float32, values []float32, at []int) {
	n, at, c := len(out), at[:len(w)], 0
	for ; c+4 <= n; c += 4 {
		var s0, s1, s2, s3 float32
		for i, p := range w {
			v := (*[4]float32)(values[at[i]*n+c:])
			s0 += float32(p * v[0])
			s1 += float32(p * v[1])
			s2 += float32(p * v[2])
			s3 += float32(p * v[3])
		}
		o := (*[4]float32)(out[c:])
		o[0], o[1] = float32(o[0]*fall)+s0, float32(o[1]*fall)+s1
		o[2], o[3] = float32(o[2]*fall)+s2, float32(o[3]*fall)+s3
	}
	for ; c < n; c++ {
		s := float32(0)
		for i, p := range w {
			s += float32(p * values[at[i]*n+c])
		}
		out[c] = float32(out[c]*fall) + s
	}
}

// mixBF16 is mixF32 for values in bfloat16.
func mixBF16(out, w []float32, fall float32, values []uint16, at []int) {
	n, at, c := len(out), at[:len(w)], 0
	for ; c+4 <= n; c += 4 {
		var s0, s1, s2, s3 float32
		for i, p := range w {
			v := (*[4]uint16)(values[at[i]*n+c:])
			s0 += float32(p * quant.FromBF16(v[0]))
			s1 += float32(p * quant.FromBF16(v[1]))
			s2 += float32(p * quant.FromBF16(v[2]))
			s3 += float32(p * quant.FromBF16(v[3]))
		}
		o := (*[4]float32)(out[c:])
		o[0], o[1] = float32(o[0]*fall)+s0, float32(o[1]*fall)+s1
		o[2], o[3] = float32(o[2]*fall)+s2, float32(o[3]*fall)+s3
	}
	for ; c < n; c++ {
		s := float32(0)
		for i, p := range w {
			s += float32(p * quant.FromBF16(values[at[i]*n+c]))
		}
		out[c] = float32(out[c]*fall) + s
	}
}
