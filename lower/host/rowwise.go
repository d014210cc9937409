package host

import (
	"fmt"

	"estream/ir"
	"estream/lower"
	"estream/lower/host/kernel"
)

func sumRows(x *Exec, from, to int) error {
	_, k := rows(x.In[0].Type)
	x.pool.set.Sum(x.out()[from:to], span(x.f32(0), k, from, to), k)
	return nil
}

func softmaxRows(x *Exec, from, to int) error {
	_, k := rows(x.Out.Type)
	dst, src := same(x, from, to)
	x.pool.set.Softmax(dst, src, k)
	return nil
}

func normRows(x *Exec, from, to int) error {
	dst, src := same(x, from, to)
	x.pool.set.RMSNorm(dst, src, x.f32(1), x.Attr.(ir.EpsAttr).Eps)
	return nil
}

func sliceRows(x *Exec, from, to int) error {
	_, k := rows(x.In[0].Type)
	_, m := rows(x.Out.Type)
	at := x.Attr.(ir.SliceAttr).From
	if from < to {
		kernel.CopyColumns(x.out()[from*m:], m, x.f32(0)[from*k+at:], k, m, to-from)
	}
	return nil
}

func concatRows(x *Exec, from, to int) error {
	_, m := rows(x.Out.Type)
	at := 0
	for i := range x.In {
		_, k := rows(x.In[i].Type)
		if from < to {
			kernel.CopyColumns(x.out()[from*m+at:], m, x.f32(i)[from*k:], k, k, to-from)
		}
		at += k
	}
	return nil
}

func topKRows(x *Exec, from, to int) error {
	_, n := rows(x.In[0].Type)
	_, k := rows(x.Out.Type)
	dst := lower.I32(x.Out.Bytes())
	return x.pool.set.TopK(span(dst, k, from, to), span(x.f32(0), n, from, to), n, k)
}

func gatherElements(x *Exec, from, to int) error {
	_, n := rows(x.In[0].Type)
	_, k := rows(x.Out.Type)
	return kernel.Gather(span(x.out(), k, from, to), span(x.f32(0), n, from, to), span(x.i32(1), k, from, to), n, k)
}

func oneHotRows(x *Exec, from, to int) error {
	_, k := rows(x.In[0].Type)
	_, n := rows(x.Out.Type)
	return kernel.OneHot(span(x.out(), n, from, to), span(x.i32(0), k, from, to), n, k)
}

func quantizeRows(x *Exec, from, to int) error {
	_, k := rows(x.Out.Type)
	dst := span(x.Out.Bytes(), rowBytes(x.Out.Type), from, to)
	return x.pool.set.QuantizeA8(dst, span(x.f32(0), k, from, to), to-from, k, x.Out.Type.DType == ir.A8G128)
}

// rope loops over the rows of x [T,H,D].
func rope(x *Exec) error {
	d := x.Out.Type.Dims
	return x.pool.loop(x, d[0].N, d[1].N*d[2].N, ropeRows)
}

func ropeRows(x *Exec, from, to int) error {
	a, d := x.Attr.(ir.RoPEAttr), x.Out.Type.Dims
	k := d[1].N * d[2].N
	r := kernel.Rotary{Heads: d[1].N, D: d[2].N, Theta: a.Theta, Interleaved: a.Interleaved,
		Factor: a.Factor, Low: a.Low, High: a.High, Scale: a.Scale}
	x.pool.set.Rotate(r, span(x.out(), k, from, to), span(x.f32(0), k, from, to), x.i32(1)[from:to])
	return nil
}

// embed loops over the ids.
func embed(x *Exec) error {
	t := x.Out.Type.Dims
	for i, id := range x.i32(1) {
		if n := x.In[0].Type.Dims[0].N; id < 0 || int(id) >= n {
			return &lower.RowError{Row: i, Err: fmt.Errorf("id %d is not one of the table's %d", id, n)}
		}
	}
	return x.pool.loop(x, t[0].N, t[1].N, embedRows)
}

func embedRows(x *Exec, from, to int) error {
	w := x.In[0]
	t := kernel.Table{DType: w.Type.DType, K: w.Type.Last().N, Data: w.Bytes(), Factor: w.Factor}
	return t.Rows(span(x.out(), t.K, from, to), x.i32(1)[from:to])
}

// gatherRows loops over the rows it picks.
func gatherRows(x *Exec) error {
	size := lower.RowBytes(x.Out.Type)
	return x.pool.loop(x, x.Out.Type.Dims[0].N, int(size/8), gatherRowRange)
}

func gatherRowRange(x *Exec, from, to int) error {
	size := int(lower.RowBytes(x.Out.Type))
	return kernel.GatherRows(span(x.Out.Bytes(), size, from, to), x.In[0].Bytes(), x.i32(1)[from:to], size)
}

// scatterAdd loops over columns, so that each is added to in the order of the rows.
func scatterAdd(x *Exec) error {
	d := x.In[1].Type.Dims
	return x.pool.loop(x, d[1].N, d[0].N, scatterColumns)
}

func scatterColumns(x *Exec, from, to int) error {
	n := x.In[1].Type.Dims[1].N
	if from == to || len(x.f32(1)) == 0 {
		return nil
	}
	return x.pool.set.ScatterAdd(x.out()[from:], n, x.f32(1)[from:], n, to-from, x.i32(2), nil)
}
