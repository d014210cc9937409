package bench

import (
	"cmp"
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"estream/lower/host/kernel"
	"estream/runtime"
)

// describe is a result without what is measured.
func (s *session) describe(tokens int, plan runtime.Plan) (*Result, error) {
	m := s.model
	params, err := s.params(m)
	if err != nil {
		return nil, err
	}
	man := m.Manifest()
	k, v := stateTypes(m)
	r := &Result{
		BuildCommit: revision(), CPUInfo: cpuInfo(), Backends: s.backends,
		ModelFilename: s.pkg, ModelSize: modelSize(m), ModelParams: params,
		Batch: tokens, Threads: s.threads, Settings: settings(k, v), Prompt: tokens,
		TestTime: time.Now().UTC().Format("2006-01-02T15:04:05Z"),
		Kernels:  kernels(s.Host.Kernels), Seed: s.Seed,
	}
	r.planned(plan)
	encoding := "exact"
	for _, kv := range man.Policy {
		if kv.Key == "encoding" {
			encoding = kv.Value
		}
	}
	r.ModelType = fmt.Sprintf("%s %s %s", man.Family, billions(r.ModelParams), encoding)
	return r, nil
}

// planned tells how a run is, or was. The most that any run planned stands beside the
// peak, which is of all runs so far: a later one has what the process grew by in its plan.
func (r *Result) planned(p runtime.Plan) {
	r.Schedule, r.Q, r.B, r.G = p.Schedule.String(), p.Readers, p.Geometry.Banks, p.Geometry.Group
	r.Microbatch, r.ArenaBytes, r.ResidentBytes = p.Chunk, p.Geometry.Bytes(), 0
	for _, part := range p.Parts {
		if part.Name == "pins" {
			r.ResidentBytes = part.Bytes
		}
	}
	r.PlanBytes = max(r.PlanBytes, p.Bytes())
}

// params is how many parameters the census counts.
func (s *session) params(m *runtime.Model) (int64, error) {
	if s.Census == nil {
		return 0, nil
	}
	c, err := s.Census(m)
	if err != nil {
		return 0, fmt.Errorf("%s: parameters: %w", s.pkg, err)
	}
	return c.Params, nil
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

// unstamped is the commit of a program that does not know it.
const unstamped = "unknown"

// revision is the commit that the program was built from.
func revision() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 8)]
			}
		}
	}
	return unstamped
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
