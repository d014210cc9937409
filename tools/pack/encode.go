package pack

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"estream/ir"
	"estream/ir/quant"
	"estream/passes"
	"estream/runtime"
)

// A matrix of more than wholeBlocks blocks is encoded a block of rows at a time,
// each of about blockElems elements.
const (
	blockElems  = 4 << 20
	wholeBlocks = 4
)

// block is how many elements a block has, about.
func (p *packer) block() int { return cmp.Or(p.o.block, blockElems) }

// blockRows is how many rows of k a block has: whole panels.
func (p *packer) blockRows(k int) int {
	return max(1, p.block()/k/runtime.HeadPanel) * runtime.HeadPanel
}

// inBlocks reports whether a matrix is encoded in blocks of rows.
func (p *packer) inBlocks(rw passes.RecordWeight) bool {
	_, stacked := p.stacked[rw.Name]
	n, k := rw.Type.Dims[0].N, rw.Type.Dims[1].N
	return p.o.Fill == nil && !stacked && n*k > wholeBlocks*p.block() && n > p.blockRows(k)
}

// rowsAtOnce is how many rows of a matrix are encoded at a time.
func (p *packer) rowsAtOnce(rw passes.RecordWeight) int {
	if p.inBlocks(rw) {
		return p.blockRows(rw.Type.Dims[1].N)
	}
	return rw.Type.Dims[0].N
}

// encode reads a matrix of the checkpoint, or rows of one, and encodes it. Room may
// hold its codes.
func (p *packer) encode(ctx context.Context, rw passes.RecordWeight, at spot, room []int8) (*quant.Matrix, error) {
	n, k, step := rw.Type.Dims[0].N, rw.Type.Dims[1].N, p.rowsAtOnce(rw)
	b := newBlocks(rw.Type.DType, n, k, func(row int, dst []float32) error {
		err := p.model.Read(ctx, rw.Name, at.layer, at.expert, at.row+row, len(dst)/k, dst)
		collect(p.stacked[rw.Name])
		return err
	})
	if b.room = room; rw.Type.DType.Encoded() { // a plain matrix may keep what it is made from
		b.buf = p.values.take((step + 1) * k)
		defer p.values.put(b.buf)
	}
	m, err := b.encodeAll(step)
	if err != nil {
		return nil, fmt.Errorf("weight %s of layer %d, expert %d: %w", rw.Name, at.layer, at.expert, err)
	}
	return m, nil
}

// A blocks is a matrix that is encoded a block of rows at a time.
type blocks struct {
	m       *quant.Matrix
	read    func(row int, dst []float32) error
	buf     []float32 // rows, and one more
	room    []int8    // for codes of those
	largest []float32 // the row of the largest scale of those encoded; nil: all were zeros
}

// newBlocks is the matrix [n,k] whose rows read gives.
func newBlocks(d ir.DType, n, k int, read func(row int, dst []float32) error) *blocks {
	return &blocks{m: &quant.Matrix{DType: d, N: n, K: k, Factor: 1}, read: read}
}

// encodeAll is quant.Encode of the matrix, with at most step rows in memory at a
// time. What blocks have in common is the factor, which follows from the largest
// scale of all. So a block is encoded together with the row that has the largest
// scale so far, and the blocks before the one that raised the factor last are
// encoded once more.
func (b *blocks) encodeAll(step int) (*quant.Matrix, error) {
	n := b.m.N
	if step >= n {
		return b.encode(0, n)
	}
	factors := make([]float32, 0, n/step+1)
	for row := 0; row < n; row += step {
		m, err := b.encode(row, min(step, n-row))
		if err != nil {
			return nil, err
		}
		b.keep(row, m)
		factors = append(factors, m.Factor)
	}
	for i, f := range factors {
		if f == b.m.Factor || b.largest == nil {
			continue
		}
		m, err := b.encode(i*step, min(step, n-i*step))
		if err != nil {
			return nil, err
		}
		b.keep(i*step, m)
	}
	return b.m, nil
}

// encode encodes n rows as they are in the matrix so far.
func (b *blocks) encode(row, n int) (*quant.Matrix, error) {
	k := b.m.K
	b.buf = slices.Grow(b.buf[:0], (n+1)*k)
	w := b.buf[:n*k]
	if err := b.read(row, w); err != nil {
		return nil, err
	}
	m, err := quant.EncodeIn(b.room, b.m.DType, n+len(b.largest)/k, k, append(w, b.largest...))
	if err != nil && n < b.m.N {
		err = fmt.Errorf("rows from %d: %w", row, err)
	}
	if err != nil {
		return nil, err
	}
	if b.common() && n < b.m.N {
		b.raise(m, w, n)
	}
	return m.RowsOf(0, n), nil
}

// common reports whether the type has a factor that is the whole matrix's.
func (b *blocks) common() bool { return b.m.DType.Encoded() && !b.m.DType.Full() }

// raise takes in the factor of m, whose first n rows are w, and the row that it
// comes from.
func (b *blocks) raise(m *quant.Matrix, w []float32, n int) {
	if b.largest != nil && m.Factor <= b.m.Factor || !slices.ContainsFunc(m.Q, func(q int8) bool { return q != 0 }) {
		return
	}
	groups, at := m.K/m.DType.Group(m.K), 0
	for i, s := range m.Scale[:len(m.Scale)/m.N*n] {
		if s > m.Scale[at] { // halves above zero order as their bits
			at = i
		}
	}
	row := at / groups
	b.largest, b.m.Factor = slices.Clone(w[row*m.K:(row+1)*m.K]), m.Factor
}

// keep copies rows into their place.
func (b *blocks) keep(row int, m *quant.Matrix) {
	if !m.DType.Encoded() {
		b.m.F = grown(b.m.F, b.m.N*b.m.K)
		copy(b.m.F[row*m.K:], m.F)
		return
	}
	groups := m.K / m.DType.Group(m.K)
	b.m.Q, b.m.Scale = grown(b.m.Q, b.m.N*b.m.K), grown(b.m.Scale, b.m.N*groups)
	copy(b.m.Q[row*m.K:], m.Q)
	copy(b.m.Scale[row*groups:], m.Scale)
}

// grown is s, or a new slice of n where there is none.
func grown[E any](s []E, n int) []E {
	if s == nil {
		return make([]E, n)
	}
	return s
}
