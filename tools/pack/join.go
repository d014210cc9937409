package pack

import (
	"bytes"
	"math/rand/v2"

	"estream/ir"
	"estream/ir/quant"
	"estream/lower"
	"estream/passes"
)

// findJoined notes the types of large plain matrices that the packing arranges
// block after block: those are never whole in memory. Codes are a quarter as large
// or less, and their scales stand apart, so encodings are packed whole.
func (p *packer) findJoined() error {
	p.joined = map[string]bool{}
	for _, r := range p.records {
		for _, rw := range r.Weights {
			if !rw.Matrix || rw.Type.Dims[0].Sym != "" || rw.Type.DType.Encoded() || !p.inBlocks(rw) {
				continue
			}
			ok, err := joins(p.o.Packing, rw.Type, p.blockRows(rw.Type.Dims[1].N))
			if err != nil {
				return err
			}
			if ok {
				p.joined[rw.Type.String()] = true
			}
		}
	}
	return nil
}

// byBlocks reports whether a matrix is written a block of rows at a time.
func (p *packer) byBlocks(rw passes.RecordWeight) bool {
	return rw.Matrix && p.joined[rw.Type.String()] && p.inBlocks(rw)
}

// joins reports whether blocks of step rows of a matrix of a plain type, packed
// one by one, are the matrix packed. A packing does not say so; it is seen on
// random values in one such block and what the last one has.
func joins(p lower.Packing, t ir.Type, step int) (bool, error) {
	n, k := t.Dims[0].N, t.Dims[1].N
	last := (n-1)%step + 1
	m := &quant.Matrix{DType: t.DType, N: step + last, K: k, F: make([]float32, (step+last)*k), Factor: 1}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range m.F {
		m.F[i] = float32(r.IntN(509) - 254) // whole numbers that every plain type has
	}
	both, err := packedOf(p, m)
	if err != nil {
		return false, err
	}
	first, err := packedOf(p, m.RowsOf(0, step))
	if err != nil {
		return false, err
	}
	second, err := packedOf(p, m.RowsOf(step, step+last))
	if err != nil {
		return false, err
	}
	whole, err := p.Size(t)
	return whole == int64(n-1)/int64(step)*int64(len(first))+int64(len(second)) &&
		bytes.Equal(both, append(first, second...)), err
}

func packedOf(p lower.Packing, m *quant.Matrix) ([]byte, error) {
	n, err := p.Size(ir.Tensor(m.DType, ir.N(m.N), ir.N(m.K)))
	if err != nil {
		return nil, err
	}
	dst := make([]byte, n)
	return dst, p.Pack(dst, m)
}
