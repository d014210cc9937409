package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"estream/ir"
	"estream/lower/host/kernel"
	"estream/passes"
	"estream/runtime"
)

// describe is a result without what is measured.
func (s *session) describe(tokens int, plan runtime.Plan) *Result {
	m := s.model
	man := m.Manifest()
	k, v := stateTypes(m)
	r := &Result{
		BuildCommit: revision(), CPUInfo: cpuInfo(), Backends: s.backends,
		ModelFilename: s.pkg, ModelSize: modelSize(m), ModelParams: modelParams(m),
		Batch: tokens, Microbatch: plan.Chunk, Threads: s.threads, TypeK: k, TypeV: v, Prompt: tokens,
		TestTime: time.Now().UTC().Format("2006-01-02T15:04:05Z"),
		Kernels:  kernels(s.Host.Kernels), Schedule: s.Runtime.Schedule.String(), Seed: s.Seed,
		Q: plan.Readers, B: plan.Geometry.Banks, G: plan.Geometry.Group,
		ArenaBytes: plan.Geometry.Bytes(), PlanBytes: plan.Bytes(),
	}
	for _, p := range plan.Parts {
		if p.Name == "pins" {
			r.ResidentBytes = p.Bytes
		}
	}
	encoding := "exact"
	for _, kv := range man.Policy {
		if kv.Key == "encoding" {
			encoding = kv.Value
		}
	}
	r.ModelType = fmt.Sprintf("%s %s %s", man.Family, billions(r.ModelParams), encoding)
	return r
}

// billions prints a number of parameters as models are named: 6.92B, 1.2M.
func billions(n int64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.2fB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.2fM", float64(n)/1e6)
}

// modelSize is the bytes of all weights.
func modelSize(m *runtime.Model) int64 {
	man, n := m.Manifest(), int64(0)
	for _, r := range slices.Concat(man.Dense, man.Experts) {
		n += r.Length
	}
	for _, r := range man.Rows {
		n += r.Size()
	}
	return n
}

// modelParams counts the values of all weights; a matrix that is both embedding
// and head counts once.
func modelParams(m *runtime.Model) int64 {
	module, n := m.Module(), int64(0)
	for _, class := range module.Layers {
		seen := map[string]bool{}
		for _, g := range module.Graphs {
			if strings.HasPrefix(g.Name, class+".") {
				n += weights(g, seen)
			}
		}
		if callee, experts, err := passes.Routed(module, class); err == nil && experts > 0 {
			n += int64(experts) * weights(module.Graph(callee), seen)
		}
	}
	n += weights(module.Graph(passes.HeadNorm), map[string]bool{})
	var config struct {
		Tied bool `json:"tie_word_embeddings"`
	}
	_ = json.Unmarshal(m.Manifest().Config, &config) // a config that is none says nothing
	for _, name := range []string{passes.EmbedGraph, passes.HeadProj} {
		if name == passes.EmbedGraph || !config.Tied {
			n += int64(m.Vocab()) * int64(module.Graph(name).Weights()[0].Type.Last().N)
		}
	}
	return n
}

// weights counts the values of a graph's weights that were not seen before.
func weights(g *ir.Graph, seen map[string]bool) int64 {
	total := int64(0)
	for _, w := range g.Weights() {
		if seen[w.Name] {
			continue
		}
		seen[w.Name] = true
		n := int64(1)
		for _, d := range w.Type.Dims {
			n *= int64(d.N)
		}
		total += n
	}
	return total
}

// stateTypes are the types of keys and values.
func stateTypes(m *runtime.Model) (k, v string) {
	for _, g := range m.Module().Graphs {
		if s := g.Value("state"); s != nil && len(s.Type.Parts) == 2 {
			return s.Type.Parts[0].DType.String(), s.Type.Parts[1].DType.String()
		}
	}
	return "", ""
}

// kernels names the instruction set of a host backend.
func kernels(set *kernel.Set) string {
	if set == nil {
		var err error
		if set, err = kernel.Best(); err != nil {
			return ""
		}
	}
	return set.String()
}

// revision is the commit that the program was built from.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 8)]
			}
		}
	}
	return "unknown"
}

// cpuInfo names the processor.
func cpuInfo() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // there is none but on Linux
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); key == "model name" || key == "Hardware" {
			return strings.TrimSpace(value)
		}
	}
	return cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), goruntime.GOARCH)
}
