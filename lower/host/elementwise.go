package host

import (
	"estream/ir"
	"estream/lower/host/kernel"
)

// span returns rows from..to-1 of k values.
func span[E any](v []E, k, from, to int) []E { return v[from*k : to*k] }

// binary returns the Func of add, sub, mul or div.
func binary(op kernel.Binary) Func {
	return rowwise(1, func(x *Exec, from, to int) error {
		_, k := rows(x.Out.Type)
		y, form := x.f32(1), kernel.FormOf(x.In[0].Type, x.In[1].Type)
		switch form {
		case kernel.Same:
			y = span(y, k, from, to)
		case kernel.Column:
			y = y[from:to]
		}
		x.pool.set.Apply(op, span(x.out(), k, from, to), span(x.f32(0), k, from, to), y, k, form)
		return nil
	})
}

// same returns rows from..to-1 of a result and an operand of equal extents.
func same(x *Exec, from, to int) (dst, src []float32) {
	_, k := rows(x.Out.Type)
	return span(x.out(), k, from, to), span(x.f32(0), k, from, to)
}

func affineRows(x *Exec, from, to int) error {
	a := x.Attr.(ir.AffineAttr)
	dst, src := same(x, from, to)
	x.pool.set.Affine(dst, src, a.Mul, a.Add)
	return nil
}

func clampRows(x *Exec, from, to int) error {
	dst, src := same(x, from, to)
	x.pool.set.Clamp(dst, src, x.Attr.(ir.LimitAttr).Limit)
	return nil
}

func siluRows(x *Exec, from, to int) error {
	dst, src := same(x, from, to)
	x.pool.set.SiLU(dst, src)
	return nil
}

func sigmoidRows(x *Exec, from, to int) error {
	dst, src := same(x, from, to)
	x.pool.set.Sigmoid(dst, src)
	return nil
}

func scaleRows(x *Exec, from, to int) error {
	dst, src := same(x, from, to)
	x.pool.set.ScaleRows(dst, src, x.f32(1)[from:to])
	return nil
}
