package pack

import (
	"fmt"
	"path/filepath"
	"slices"

	"estream/pager/layout"
)

// provenance says where the package comes from, the same wherever the checkpoint
// lies and whenever it was copied: the hash of what it is, its weight files, and
// what was taken for granted about it.
func (p *packer) provenance() ([]layout.KeyValue, error) {
	hash, err := checkpointHash(p.ckpt)
	if err != nil {
		return nil, err
	}
	out := append(slices.Clone(p.o.Provenance), layout.KeyValue{Key: "checkpoint", Value: hash + " (hash of config.json, file names, sizes and tensors)"})
	for _, f := range p.ckpt.Files() {
		out = append(out, layout.KeyValue{Key: "weights", Value: fmt.Sprintf("%s, %d bytes", filepath.Base(f.Path), f.Size)})
	}
	for _, n := range p.report.Notes {
		out = append(out, layout.KeyValue{Key: "note", Value: n})
	}
	return out, nil
}
