package weights

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/passes"
	"estream/runtime"
)

// panel is how many rows a block of a packed matrix has.
const panel = runtime.HeadPanel

// A strip is rows of a tensor that lie in a file one block after another. It is not
// changed; readers have blocks of their own.
type strip struct {
	stored
	file   io.ReaderAt
	at     int64
	unpack func(src []byte, t ir.Type) (*quant.Matrix, error)
}

// A stored is how a strip is stored: two of one kind and bytes have the same values.
type stored struct {
	packing     string // empty: plain
	dtype       ir.DType
	rows, width int
	factor      float32
	block       int   // rows of a block, the last apart
	blockBytes  int64 // from one block to the next
	lastBytes   int64 // of the last block
}

// size is how many bytes the strip has.
func (s *stored) size() int64 { return int64((s.rows-1)/s.block)*s.blockBytes + s.lastBytes }

// strip finds the blocks of a weight of a record.
func (p *lowered) strip(file string, at int64, w passes.RecordWeight, factor float32) (*strip, error) {
	t := Tensor{Shape: shape(w.Type)}
	s := &strip{file: p.files[file], at: at, unpack: unpackPlain}
	s.stored = stored{dtype: w.Type.DType, rows: t.Rows(), width: t.Width(), factor: factor}
	if w.Type.DType.Encoded() {
		if err := lower.CheckFactor(factor); err != nil {
			return nil, err
		}
	}
	if !w.Matrix {
		s.block, s.blockBytes, s.lastBytes = 1, w.Size/int64(s.rows), w.Size/int64(s.rows)
		return s, nil
	}
	s.packing, s.unpack = p.packing.Name, p.packing.Unpack
	cut, err := p.panels(s.dtype, s.width)
	if err != nil || !cut || s.rows <= panel {
		s.block, s.blockBytes, s.lastBytes = s.rows, w.Size, w.Size
		return s, err
	}
	s.block = panel
	if s.blockBytes, err = p.packing.Size(s.typed(panel)); err != nil {
		return nil, err
	}
	s.lastBytes = w.Size - int64((s.rows-1)/panel)*s.blockBytes
	return s, nil
}

func (s *strip) typed(rows int) ir.Type { return ir.Tensor(s.dtype, ir.N(rows), ir.N(s.width)) }

// panels is inPanels, asked once for each type.
func (p *lowered) panels(d ir.DType, k int) (bool, error) {
	key := fmt.Sprint(d, k)
	cut, known := p.cut[key]
	if known {
		return cut, nil
	}
	cut, err := inPanels(p.packing, d, k)
	p.cut[key] = cut
	return cut, err
}

// inPanels reports whether panels of rows, packed one by one, are the matrix packed.
// A packing does not say so; it is seen on random values in two panels and a rest.
func inPanels(p lower.Packing, d ir.DType, k int) (bool, error) {
	m := random(d, 2*panel+7, k)
	whole, err := packed(p, m)
	if err != nil {
		return false, err
	}
	var parts []byte
	for from := 0; from < m.N; from += panel {
		part, err := packed(p, m.RowsOf(from, min(from+panel, m.N)))
		if err != nil {
			return false, err
		}
		parts = append(parts, part...)
	}
	return bytes.Equal(whole, parts), nil
}

func packed(p lower.Packing, m *quant.Matrix) ([]byte, error) {
	n, err := p.Size(ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K)))
	if err != nil {
		return nil, err
	}
	dst := make([]byte, n)
	return dst, p.Pack(dst, m)
}

// random is a matrix of codes, scales and numbers that every type has.
func random(d ir.DType, n, k int) *quant.Matrix {
	r := rand.New(rand.NewPCG(1, 2))
	m := &quant.Matrix{DType: d, N: n, K: k, Factor: 1}
	if !d.Encoded() {
		m.F = make([]float32, n*k)
		for i := range m.F {
			m.F[i] = float32(r.IntN(509) - 254)
		}
		return m
	}
	m.Q, m.Scale = make([]int8, n*k), make([]uint16, n*(k/d.Group(k)))
	for i := range m.Q {
		m.Q[i] = int8(r.IntN(15) - 7)
	}
	for i := range m.Scale {
		m.Scale[i] = quant.F16(0.25 + float32(r.IntN(512))/1024)
	}
	return m
}

// unpackPlain reads rows that no matmul reads.
func unpackPlain(src []byte, t ir.Type) (*quant.Matrix, error) {
	n, err := lower.PlainSize(t)
	if err != nil {
		return nil, err
	}
	return lower.UnpackPlain(src[:n], t)
}

// tensor is one whose rows are those of strips, which have one width.
func tensor(id ID, shape []int, strips ...*strip) Tensor {
	return Tensor{ID: id, Type: strips[0].dtype.String(), Shape: shape, strips: strips, Open: func() Reader {
		held := holder{}
		return func(ctx context.Context, row int, dst []float32) error {
			first := 0
			for _, s := range strips {
				from, to := max(row-first, 0), min(row-first+len(dst)/s.width, s.rows)
				if from < to {
					if err := held.read(ctx, s, from, dst[(first+from-row)*s.width:][:(to-from)*s.width]); err != nil {
						return fmt.Errorf("%s: %w", id, err)
					}
				}
				first += s.rows
			}
			return nil
		}
	}}
}

// A holder keeps the block that it read last, of one that is a whole matrix.
type holder struct {
	s   *strip
	m   *quant.Matrix
	buf []byte
}

// read sets dst to rows of a strip.
func (h *holder) read(ctx context.Context, s *strip, row int, dst []float32) error {
	if s.block == 1 {
		return h.lines(s, row, dst)
	}
	for len(dst) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		i := row / s.block
		m, err := h.load(s, i)
		if err != nil {
			return err
		}
		n := min(m.N-(row-i*s.block), len(dst)/s.width)
		for j := range n {
			m.Row(row-i*s.block+j, dst[j*s.width:][:s.width])
		}
		row, dst = row+n, dst[n*s.width:]
	}
	return nil
}

// load unpacks block i of a strip.
func (h *holder) load(s *strip, i int) (*quant.Matrix, error) {
	if h.s == s && h.m != nil && s.block == s.rows {
		return h.m, nil
	}
	rows, size := min(s.block, s.rows-i*s.block), s.blockBytes
	if rows+i*s.block == s.rows {
		size = s.lastBytes
	}
	m, err := h.unpack(s, s.at+int64(i)*s.blockBytes, size, rows)
	h.s, h.m = s, m
	return m, err
}

// lines reads rows that stand one by one.
func (h *holder) lines(s *strip, row int, dst []float32) error {
	n := len(dst) / s.width
	one, err := lower.PlainSize(s.typed(1))
	if err != nil {
		return err
	}
	if s.blockBytes == one { // no gaps between rows
		m, err := h.unpack(s, s.at+int64(row)*one, int64(n)*one, n)
		if err != nil {
			return err
		}
		for j := range n {
			m.Row(j, dst[j*s.width:][:s.width])
		}
		return nil
	}
	for j := range n {
		m, err := h.unpack(s, s.at+int64(row+j)*s.blockBytes, one, 1)
		if err != nil {
			return err
		}
		m.Row(0, dst[j*s.width:][:s.width])
	}
	return nil
}

func (h *holder) unpack(s *strip, at, size int64, rows int) (*quant.Matrix, error) {
	if int64(cap(h.buf)) < size {
		h.buf = make([]byte, size)
	}
	src := h.buf[:size]
	if _, err := s.file.ReadAt(src, at); err != nil {
		return nil, fmt.Errorf("at byte %d of its file: %w", at, err)
	}
	m, err := s.unpack(src, s.typed(rows))
	if err != nil {
		return nil, err
	}
	if m.DType.Encoded() {
		m.Factor = s.factor
	}
	return m, nil
}
