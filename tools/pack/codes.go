package pack

import (
	"context"
	"fmt"

	"estream/ir/quant"
	"estream/passes"
)

// coded reports whether the checkpoint holds a weight in the encoding that it is to
// have, as Q4_0 of GGUF is w4full: its codes are taken over, and nothing is rounded.
func (p *packer) coded(rw passes.RecordWeight, at spot) bool {
	return p.o.Fill == nil && rw.Matrix && rw.Type.DType.Encoded() && rw.Type.DType == p.model.Encoding(rw.Name, at.layer, at.expert)
}

// codes takes a weight over, or rows of one.
func (p *packer) codes(ctx context.Context, rw passes.RecordWeight, at spot) (*quant.Matrix, error) {
	n, k := rw.Type.Dims[0].N, rw.Type.Dims[1].N
	m := &quant.Matrix{DType: rw.Type.DType, N: n, K: k, Factor: 1, Q: make([]int8, n*k), Scale: make([]uint16, n*k/rw.Type.DType.Group(k))}
	return m, p.model.ReadCodes(ctx, rw.Name, at.layer, at.expert, at.row, n, m.Q, m.Scale)
}

// noteCodes counts the weights whose codes are taken over, and says so.
func (p *packer) noteCodes() error {
	taken, all := 0, 0
	count := func(record string, at spot) {
		for _, rw := range p.records[record].Weights {
			if rw.Matrix {
				all++
			}
			if p.coded(rw, at) {
				taken++
			}
		}
	}
	count(passes.HeadProj, spot{})
	for l, class := range p.module.Layers {
		count(class, spot{layer: l})
		callee, n, err := passes.Routed(p.module, class)
		if err != nil {
			return err
		}
		for e := range n {
			count(callee, spot{layer: l, expert: e})
		}
	}
	if taken > 0 {
		p.report.Notes = append(p.report.Notes, fmt.Sprintf("%d of %d matrices keep the checkpoint's own codes and scales: they are not rounded a second time", taken, all))
	}
	return nil
}
