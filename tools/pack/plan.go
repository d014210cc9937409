package pack

import (
	"cmp"
	"context"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// headRun is about how many bytes a run of the head's panels has at most.
const headRun = 1 << 20

// plan lowers the model of the checkpoint at path and places every record.
func (p *packer) plan(ctx context.Context, path string) error {
	j := p.job
	if note, err := p.model.CompareHead(ctx); err != nil {
		return err
	} else if note != "" {
		j.report.Notes = append(j.report.Notes, note)
	}
	if err := p.lower(); err != nil {
		return err
	}
	if err := p.keepCodes(); err != nil {
		return err
	}
	j.report.Encoding = p.o.Encoding.Name
	if err := p.findJoined(); err != nil {
		return err
	}
	if err := p.noteCodes(); err != nil {
		return err
	}
	if err := p.describe(); err != nil {
		return err
	}
	columns, err := p.columns()
	if err != nil {
		return err
	}
	if err := j.place(columns); err != nil {
		return err
	}
	if j.companions, err = companionsOf(p.ckpt, path, p.vocabSize); err != nil {
		return err
	}
	if err := j.tryTemplate(); err != nil {
		return err
	}
	hash, err := p.sourcesHash()
	if err != nil {
		return err
	}
	j.layout.Identity = append([]layout.KeyValue{{Key: "encoding", Value: j.o.Encoding.full()}}, j.identity("the hash of the checkpoint's files", hash)...)
	j.layout.Companions, j.layout.CompanionNames = j.besideBytes(), j.companionNames()
	return nil
}

// lower builds the module and runs the passes of packing.
func (p *packer) lower() (err error) {
	j, e := p.job, p.o.Encoding
	if j.module, err = p.model.Module(); err != nil {
		return err
	}
	policy := passes.Policy{
		Experts: e.Experts, Attention: e.Attention, Head: e.Head, Embed: e.Embed,
		Exact: func(_, weight string) ir.DType { return p.model.DType(weight) },
	}
	var r passes.Report
	if err := passes.Run(j.module, passes.Pack(policy, j.o.Packing, &r), nil); err != nil {
		return err
	}
	j.report.Policy = summary(e, r)
	j.records, err = passes.Records(j.module, j.o.Packing)
	return err
}

// describe fills in what the manifest says before there are records.
func (p *packer) describe() (err error) {
	j := p.job
	j.man = layout.Manifest{
		Align:    cmp.Or(j.o.Align, layout.DefaultAlign),
		Family:   p.model.Family.Name,
		Packing:  j.o.Packing.Name,
		Backends: []string{j.o.Backend},
		Ops:      j.module.Ops(),
		Module:   j.module.String(),
		Policy:   j.report.Policy,
	}
	if j.man.Provenance, err = p.provenance(); err != nil {
		return err
	}
	j.man.Config, err = p.ckpt.Config()
	return err
}

// columns returns how many columns a run of the head has: whole panels, of about
// the bytes of the largest layer's dense record, so that runs fit where that does.
func (p *packer) columns() (int, error) {
	most := int64(64 << 10)
	for _, class := range p.module.Layers {
		most = max(most, p.records[class].Len)
	}
	most = min(most, headRun)
	v := p.vocabSize
	whole, err := p.records[passes.HeadProj].Bind(p.o.Packing, lower.Dims{"P": v})
	if err != nil {
		return 0, err
	}
	return layout.RunColumns(v, int((whole.Len+most-1)/most), runtime.HeadPanel), nil
}
