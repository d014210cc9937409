package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"

	"estream/ir"
	"estream/models/checkpoint"
	"estream/pager/layout"
)

// identity is what a conversion is told apart by: what the package is made from,
// which the key source names, how, and by which program.
func (j *job) identity(source, hash string) []layout.KeyValue {
	return append(slices.Clone(j.o.Provenance),
		layout.KeyValue{Key: "backend", Value: j.o.Backend},
		layout.KeyValue{Key: "packing", Value: j.man.Packing},
		layout.KeyValue{Key: source, Value: hash},
		layout.KeyValue{Key: "the hash of the graphs", Value: digest(j.man.Module)},
		layout.KeyValue{Key: "the program", Value: program()})
}

// full says what an encoding does, whatever its name.
func (e Encoding) full() string {
	kind := func(d ir.DType) string {
		if d == ir.Invalid {
			return "exact"
		}
		return d.String()
	}
	return fmt.Sprintf("%s (experts %s, attention %s, head %s, embed %s)", e.Name, kind(e.Experts), kind(e.Attention), kind(e.Head), kind(e.Embed))
}

// checkpointHash tells checkpoints apart by all that can be told without reading
// weights: config.json, the files' names and sizes, and what the tensors are.
func checkpointHash(c checkpoint.Checkpoint) (string, error) {
	config, err := c.Config()
	if err != nil {
		return "", err
	}
	text := fmt.Appendf(nil, "%d %s", len(config), config)
	for _, f := range c.Files() {
		text = fmt.Appendf(text, "%q %d\n", filepath.Base(f.Path), f.Size)
	}
	for _, t := range c.Tensors() {
		text = fmt.Appendf(text, "%q %s %v %d\n", t.Name, t.DType, t.Shape, t.Bytes)
	}
	return digest(string(text)), nil
}

// sourcesHash is checkpointHash that tells a file that was written anew, and copies
// apart.
func (p *packer) sourcesHash() (string, error) {
	text, err := checkpointHash(p.ckpt)
	for _, s := range p.sources {
		text += s.was + "\n"
	}
	return digest(text), err
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// program is the version of what was built: another may round otherwise.
func program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Path + " " + info.Main.Version
	}
	return "unknown"
}
