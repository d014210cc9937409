package synth

import (
	"fmt"
	"strings"
	"sync"

	"estream/ir"
	"estream/lower"
	"estream/passes"
)

// sharedBytes is about how much memory the matrices of one name that experts
// share take, and most how many there are at most.
const (
	sharedBytes = 32 << 20
	most        = 16
)

// A filler makes packed weights.
type filler struct {
	seed    uint64
	packing lower.Packing

	mu     sync.Mutex
	shared map[string]*shared
}

// A shared is one packed matrix, made by the first who needs it.
type shared struct {
	once   sync.Once
	data   []byte
	factor float32
	err    error
}

// fill is pack.Options.Fill.
func (f *filler) fill(dst []byte, w passes.RecordWeight, layer, index int) (float32, error) {
	if !w.Matrix || !strings.HasPrefix(w.Name, "expert.") {
		return f.make(dst, w, layer, index)
	}
	n := max(2, min(most, sharedBytes/max(1, len(dst))))
	which := int(stream(f.seed, w.Name, int64(layer), int64(index)).Uint64() % uint64(n))
	s := f.one(fmt.Sprintf("%s %s %d", w.Name, w.Type, which))
	s.once.Do(func() {
		s.data = make([]byte, len(dst))
		s.factor, s.err = f.make(s.data, w, -1, which)
	})
	copy(dst, s.data)
	return s.factor, s.err
}

func (f *filler) one(key string) *shared {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shared[key] == nil {
		f.shared[key] = &shared{}
	}
	return f.shared[key]
}

// make writes the weight at a place into dst and returns its factor.
func (f *filler) make(dst []byte, w passes.RecordWeight, layer, index int) (float32, error) {
	n, k := extents(w.Type)
	m, err := lawOf(w.Name, w.Type).matrix(stream(f.seed, w.Name, int64(layer), int64(index)), w.Type.DType, n, k)
	if err != nil {
		return 0, fmt.Errorf("weight %s: %w", w.Name, err)
	}
	if w.Matrix {
		return m.Factor, f.packing.Pack(dst, m)
	}
	return m.Factor, lower.PackPlain(dst, m)
}

// extents returns a tensor's rows of its last axis, and their length.
func extents(t ir.Type) (n, k int) {
	n = 1
	for _, d := range t.Dims[:t.Rank()-1] {
		n *= d.N
	}
	return n, t.Last().N
}
