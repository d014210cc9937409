package diff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"estream/tools/weights"
)

// A Tally is what differs of weights.
type Tally struct {
	Compared  int           `json:"compared"` // tensors that both sides have
	Values    int64         `json:"values"`   // of them
	Tolerance float64       `json:"tolerance"`
	OnlyA     []weights.ID  `json:"only_a"`
	OnlyB     []weights.ID  `json:"only_b"`
	Differ    []TensorDelta `json:"differ"` // by ID; those within the tolerance are left out
	Within    int           `json:"within"` // tensors that differ, and no more than the tolerance
}

func (t *Tally) same() bool { return len(t.OnlyA)+len(t.OnlyB)+len(t.Differ) == 0 }

// A TensorDelta is how far apart two tensors are. Elements of which one is NaN or
// infinite, and not both in the same way, are left out of the errors and counted in
// Odd.
type TensorDelta struct {
	weights.ID
	TypeA    string `json:"type_a"`
	TypeB    string `json:"type_b"`
	ShapeA   []int  `json:"shape_a"`
	ShapeB   []int  `json:"shape_b"`
	Reshaped bool   `json:"reshaped"` // the shapes differ, and no elements were compared

	Values  int64   `json:"values"`
	Apart   int64   `json:"apart"`   // elements that differ
	Odd     int64   `json:"odd"`     // those of them that have no difference
	Max     float64 `json:"max"`     // the largest difference
	At      []int   `json:"at"`      // row and column of the largest
	A       float32 `json:"a"`       // the value there
	B       float32 `json:"b"`       // the value there
	Largest float64 `json:"largest"` // magnitude in a
	Signal  float64 `json:"signal"`  // sum of a's squares
	Noise   float64 `json:"noise"`   // sum of the differences' squares
}

// MarshalJSON adds the relative error and the signal to noise ratio; null where they
// are no numbers.
func (d TensorDelta) MarshalJSON() ([]byte, error) {
	type plain TensorDelta
	return json.Marshal(struct {
		plain
		Relative *float64 `json:"relative"`
		SNR      *float64 `json:"snr_db"`
	}{plain(d), finite(d.Relative()), finite(weights.SNR(d.Signal, d.Noise))})
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Relative is the root of the differences' squares over that of a's; +Inf where a is
// all zeros and b is not.
func (d TensorDelta) Relative() float64 {
	if d.Noise == 0 {
		return 0
	}
	return math.Sqrt(d.Noise / d.Signal)
}

// over reports whether an element is farther off than the tolerance lets it be.
func (d *TensorDelta) over(tolerance float64) bool {
	return d.Reshaped || d.Odd > 0 || d.Max > tolerance*d.Largest
}

// A pair is a tensor that both sides have.
type pair struct{ a, b weights.Tensor }

// weights compares the tensors that both sides have, several at a time.
func (r *Report) weights(ctx context.Context, a, b Side, o Options) error {
	if r.lacks("weights", a, b, func(s Side) bool { return s.Weights != nil }) {
		return nil
	}
	for _, s := range []Side{a, b} {
		if s.Weights.Unnamed != nil && (a.Weights.Unnamed == nil) != (b.Weights.Unnamed == nil) {
			r.skip("weights", fmt.Sprintf("%s has names that no family gives: %v", s.Path, s.Weights.Unnamed))
			return nil
		}
	}
	t := &Tally{Tolerance: o.Tolerance, OnlyA: []weights.ID{}, OnlyB: []weights.ID{}, Differ: []TensorDelta{}}
	pairs := t.pair(a.Weights.Tensors, b.Weights.Tensors)
	p := &progress{tell: o.Progress, total: t.Values}
	deltas := make([]*TensorDelta, len(pairs))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(1, o.Workers))
	if o.Workers <= 0 {
		g.SetLimit(goruntime.GOMAXPROCS(0))
	}
	for i, x := range pairs {
		g.Go(func() (err error) {
			deltas[i], err = x.delta(ctx, p)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t.sort(deltas)
	r.Weights = t
	return nil
}

// pair finds the tensors that both sides have, and those that one has alone.
func (t *Tally) pair(as, bs []weights.Tensor) []pair {
	var out []pair
	byID := map[weights.ID]weights.Tensor{}
	for _, b := range bs {
		byID[b.ID] = b
	}
	for _, a := range as {
		b, ok := byID[a.ID]
		if !ok {
			t.OnlyA = append(t.OnlyA, a.ID)
			continue
		}
		delete(byID, a.ID)
		out = append(out, pair{a, b})
		t.Compared++
		t.Values += a.Values()
	}
	for _, b := range bs {
		if _, ok := byID[b.ID]; ok {
			t.OnlyB = append(t.OnlyB, b.ID)
		}
	}
	return out
}

// sort keeps what differs by more than the tolerance.
func (t *Tally) sort(deltas []*TensorDelta) {
	for _, d := range deltas {
		switch {
		case d.over(t.Tolerance):
			t.Differ = append(t.Differ, *d)
		case d.Apart > 0:
			t.Within++
		}
	}
}

// delta compares two tensors, a block of rows at a time.
func (x pair) delta(ctx context.Context, p *progress) (*TensorDelta, error) {
	d := &TensorDelta{ID: x.a.ID, TypeA: x.a.Type, TypeB: x.b.Type, ShapeA: x.a.Shape, ShapeB: x.b.Shape, Values: x.a.Values()}
	if !slices.Equal(d.ShapeA, d.ShapeB) {
		d.Reshaped = true
		p.add(int(d.Values))
		return d, nil
	}
	if same, err := weights.Identical(ctx, x.a, x.b); same || err != nil {
		p.add(int(d.Values))
		return d, err
	}
	k, rows := x.a.Width(), x.a.BlockRows()
	readA, readB := x.a.Open(), x.b.Open()
	bufA, bufB := make([]float32, rows*k), make([]float32, rows*k)
	for row := 0; row < x.a.Rows(); row += rows {
		n := min(rows, x.a.Rows()-row) * k
		if err := errors.Join(readA(ctx, row, bufA[:n]), readB(ctx, row, bufB[:n])); err != nil {
			return nil, err
		}
		d.add(row, k, bufA[:n], bufB[:n])
		p.add(n)
	}
	return d, nil
}

func (d *TensorDelta) add(row, k int, a, b []float32) {
	for i, x := range a {
		y, fx := b[i], float64(x)
		if x == y {
			d.Signal, d.Largest = d.Signal+fx*fx, max(d.Largest, math.Abs(fx))
			continue
		}
		if x != x && y != y {
			continue
		}
		d.Apart++
		e := math.Abs(fx - float64(y))
		if !(e <= math.MaxFloat64) {
			d.Odd++
			continue
		}
		d.Signal, d.Largest, d.Noise = d.Signal+fx*fx, max(d.Largest, math.Abs(fx)), d.Noise+e*e
		if e > d.Max {
			d.Max, d.At, d.A, d.B = e, []int{row + i/k, i % k}, x, y
		}
	}
}

// A progress counts values.
type progress struct {
	mu          sync.Mutex
	done, total int64
	tell        func(done, total int64)
}

func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done += int64(n); p.tell != nil {
		p.tell(p.done, p.total)
	}
}
