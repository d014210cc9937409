package pack

import (
	"context"
	"fmt"
	"strings"

	"estream/ir"
	"estream/ir/quant"
	"estream/passes"
)

// coded reports whether the checkpoint holds a weight in the encoding that it is to
// have, as Q4_0 of GGUF is w4full: its codes are taken over, and nothing is rounded.
func (p *packer) coded(rw passes.RecordWeight, at spot) bool {
	return p.o.Fill == nil && rw.Matrix && rw.Type.DType.Encoded() && rw.Type.DType == p.model.Encoding(rw.Name, at.layer, at.expert)
}

// keepCodes lowers the module again for w4full, where nobody asked for an encoding and
// the checkpoint has such codes of all experts; else it says how they would be kept.
func (p *packer) keepCodes() error {
	full, err := FindEncoding("w4full")
	if err != nil || p.o.Fill != nil || p.o.Packing.Name != "host" || p.o.Encoding.Experts == full.Experts {
		return err
	}
	if all, err := p.expertsCoded(full.Experts); err != nil || !all {
		return err
	}
	if !p.o.KeepCodes {
		p.report.Notes = append(p.report.Notes, "the checkpoint's experts are Q4_0: --encoding w4full would keep their codes")
		return nil
	}
	p.report.Notes = append(p.report.Notes, "experts keep the checkpoint's Q4_0 codes: w4full")
	e := &p.o.Encoding
	e.Name, e.Experts = strings.Replace(e.Name, Encodings[0].Name, full.Name, 1), full.Experts
	return p.lower()
}

// expertsCoded reports whether there are experts, and the checkpoint has codes of d of all their matrices.
func (p *packer) expertsCoded(d ir.DType) (bool, error) {
	some := false
	for l, class := range p.module.Layers {
		callee, n, err := passes.Routed(p.module, class)
		if err != nil {
			return false, err
		}
		for _, rw := range p.records[callee].Weights {
			for e := range n {
				if rw.Matrix && p.model.Encoding(rw.Name, l, e) != d {
					return false, nil
				}
				some = true
			}
		}
	}
	return some, nil
}

// takeCodes takes a weight over, or rows of one.
func (p *packer) takeCodes(ctx context.Context, rw passes.RecordWeight, at spot) (*quant.Matrix, error) {
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
