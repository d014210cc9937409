package pack

import (
	"cmp"
	"context"
	"slices"

	"estream/pager/layout"
)

// A Forecast is what a conversion would write.
type Forecast struct {
	Report // of what is known before
	Census
	Layers int
	Files  []layout.FileSum // by name, the manifest among them; without checksums

	Manifest *layout.Manifest // with 1 for each checksum and factor
	Vocab    int              // rows of the embedding table
}

// Plan tells what Run with the same arguments would write. It writes nothing, and
// refuses what Run would refuse before the first byte, but for what concerns dir.
func Plan(ctx context.Context, path string, o Options) (*Forecast, error) {
	p, err := open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	defer p.ckpt.Close()
	c, err := Count(p.module, o.Packing, p.vocabSize, p.model.Family.Weights, p.model.Tied())
	if err != nil {
		return nil, err
	}
	f := &Forecast{Report: p.report, Census: *c, Layers: len(p.module.Layers), Vocab: p.vocabSize}
	f.Written = p.layout.Experts + p.layout.Dense
	return f, p.forecast(f)
}

// forecast fills in the files. The manifest is encoded with stand-ins for what
// follows from the weights, which is as long.
func (j *job) forecast(f *Forecast) error {
	m := j.man
	m.Version = layout.Version
	m.Files = []layout.FileSum{{Name: layout.ExpertsName, Size: j.layout.Experts}, {Name: layout.DenseName, Size: j.layout.Dense}}
	for _, c := range j.companions {
		m.Files = append(m.Files, layout.FileSum{Name: c.name, Size: c.size, CRC: 1})
	}
	byName := func(a, b layout.FileSum) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(m.Files, byName)
	for _, t := range j.tasks {
		if t.rows > 0 {
			continue
		}
		r, weights, _, err := j.parts(t)
		if err != nil {
			return err
		}
		r.CRC, r.Factors = 1, slices.Repeat([]float32{1}, len(weights))
	}
	for i := range m.Rows {
		r := &m.Rows[i]
		r.Blocks = slices.Repeat([]uint32{1}, int((r.Size()+layout.BlockSize-1)/layout.BlockSize))
	}
	text, err := layout.Encode(&m)
	if err != nil {
		return err
	}
	f.Manifest = &m
	f.Files = append(slices.Clone(m.Files), layout.FileSum{Name: layout.ManifestName, Size: int64(len(text))})
	for i := range f.Files {
		f.Files[i].CRC = 0
	}
	slices.SortFunc(f.Files, byName)
	return nil
}
