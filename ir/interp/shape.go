package interp

import (
	"fmt"

	"estream/ir"
)

func reshape(c *Call) (*Tensor, error) {
	out := New(c.Type)
	if len(out.F) != len(c.Args[0].F) {
		return nil, fmt.Errorf("%s and %s hold different numbers of elements", c.Args[0].Type, c.Type)
	}
	copy(out.F, c.Args[0].F)
	return out, nil
}

func slice(c *Call) (*Tensor, error) {
	a := c.Value.Attr.(ir.SliceAttr)
	return byRow(c, func(out, x []float32) { copy(out, x[a.From:a.To]) }), nil
}

func concat(c *Call) (*Tensor, error) {
	out := New(c.Type)
	n, m := out.rows()
	at := 0
	for _, x := range c.Args {
		_, k := x.rows()
		for i := range n {
			copy(out.F[i*m+at:], x.F[i*k:(i+1)*k])
		}
		at += k
	}
	return out, nil
}

func embed(c *Call) (*Tensor, error) {
	table, ids, out := c.Args[0], c.Args[1].I, New(c.Type)
	n, k := table.rows()
	buf := make([]float32, k)
	for t, id := range ids {
		if id < 0 || int(id) >= n {
			return nil, fmt.Errorf("token %d: id %d is outside the table's %d rows", t, id, n)
		}
		copy(out.F[t*k:], table.row(int(id), buf))
	}
	return out, nil
}

func gather(c *Call) (*Tensor, error) {
	x, ids, out := c.Args[0], c.Args[1], New(c.Type)
	_, k := x.rows()
	_, m := ids.rows()
	for i, id := range ids.I {
		if id < 0 || int(id) >= k {
			return nil, fmt.Errorf("token %d: id %d is outside 0 to %d", i/m, id, k-1)
		}
		out.F[i] = x.F[i/m*k+int(id)]
	}
	return out, nil
}

func oneHot(c *Call) (*Tensor, error) {
	ids, out := c.Args[0], New(c.Type)
	_, m := ids.rows()
	_, k := out.rows()
	for i, id := range ids.I {
		if id < 0 || int(id) >= k {
			return nil, fmt.Errorf("token %d: id %d is outside 0 to %d", i/m, id, k-1)
		}
		out.F[i/m*k+int(id)] = 1
	}
	return out, nil
}

func gatherRows(c *Call) (*Tensor, error) {
	x, rows, out := c.Args[0], c.Args[1].I, New(c.Type)
	n, k := x.rows()
	if err := within(rows, n); err != nil {
		return nil, err
	}
	for r, row := range rows {
		if !c.Type.DType.Activation() {
			copy(out.F[r*k:], x.F[int(row)*k:(int(row)+1)*k])
			continue
		}
		s := k / c.Type.DType.Group(k)
		copy(out.A[r*k:], x.A[int(row)*k:(int(row)+1)*k])
		copy(out.Scale[r*s:], x.Scale[int(row)*s:(int(row)+1)*s])
	}
	return out, nil
}

// within reports a row that is none of n.
func within(rows []int32, n int) error {
	for r, row := range rows {
		if row < 0 || int(row) >= n {
			return fmt.Errorf("rows[%d] is %d, want one of %d rows", r, row, n)
		}
	}
	return nil
}
