package check

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// A Report is what a comparison found.
type Report struct {
	Prompt    string   `json:"prompt"`
	Tolerance float64  `json:"tolerance"`
	Encoded   bool     `json:"encoded"` // the package's weights are not the golden's
	Rows      []Row    `json:"values"`  // in the order of computation
	First     int      `json:"first"`   // of Rows, the first over tolerance; -1: none
	Verdict   Verdict  `json:"verdict"`
	Skipped   []string `json:"skipped"` // golden tensors that no value is known for
	Failed    []string `json:"failed"`  // why values behind some point are missing
}

// A Row compares one value.
type Row struct {
	Layer  int    `json:"layer"`  // -1: the embeddings; the number of layers: the head
	Golden string `json:"golden"` // the tensor's name without the prompt
	Value  string `json:"value"`  // of the package
	Graph  string `json:"graph"`  // that computes it
	Over   bool   `json:"over"`

	Ours   *Diff `json:"ours"`   // from the golden; nil if it was not reached, as those below
	Interp *Diff `json:"interp"` // from the golden
	Apart  *Diff `json:"apart"`  // ours from the interpreter's

	Worst Element `json:"worst"` // where ours differs most from the golden, or where the interpreter's does if ours is missing or right

	oursOver, interpOver, apartOver bool
}

// A Diff is how far two tensors are apart.
type Diff struct {
	Abs Number `json:"abs"` // the largest difference of two elements
	Rel Number `json:"rel"` // that over the golden's largest magnitude
	at  int
}

// An Element is one element in all three.
type Element struct {
	Index  []int   `json:"index"`
	Ours   *Number `json:"ours"`
	Interp *Number `json:"interp"`
	Golden Number  `json:"golden"`
}

// A Number is a float64 that JSON has as a string where it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return json.Marshal(f)
}

// A Verdict says what is likely wrong.
type Verdict string

const (
	Agrees      Verdict = "agrees"
	Graph       Verdict = "graph"       // both differ from the golden, and agree: the graph or the weights are not the model's
	Backend     Verdict = "backend"     // ours alone differs: a program computes something else than its graph
	Interpreter Verdict = "interpreter" // the interpreter alone differs: its function for an op is wrong
	Unclear     Verdict = "unclear"     // all three differ, or one of ours and the interpreter's is missing
	Incomplete  Verdict = "incomplete"  // nothing differs as far as it came, but it failed
)

// fail notes why an implementation did not reach the end.
func (r *Report) fail(what string, err error) {
	if err != nil {
		r.Failed = append(r.Failed, fmt.Sprintf("%s: %v", what, err))
	}
}

// compare adds the row of a pair. ours or interp may be nil.
func (r *Report) compare(p pair, want tensor, ours, interp []float32) error {
	row := Row{Layer: p.layer, Golden: p.golden, Value: p.value, Graph: p.graph}
	if ours == nil && interp == nil {
		return nil
	}
	for _, got := range [][]float32{ours, interp} {
		if got != nil && len(got) != len(want.data) {
			return fmt.Errorf("tensor %s.%s is %v, and %s has %d elements", r.Prompt, p.golden, want.shape, p.value, len(got))
		}
	}
	most := 0.0
	for _, v := range want.data {
		most = max(most, math.Abs(float64(v)))
	}
	limit := r.Tolerance * max(1, most)
	if want.exact {
		limit = 0
	}
	row.Ours, row.oursOver = diff(ours, want.data, most, limit)
	row.Interp, row.interpOver = diff(interp, want.data, most, limit)
	row.Apart, row.apartOver = diff(ours, interp, most, limit)
	row.Over = row.oursOver || row.interpOver
	at := row.Ours
	if at == nil || !row.oursOver && row.interpOver {
		at = row.Interp
	}
	row.Worst = Element{Index: index(at.at, want.shape), Golden: Number(want.data[at.at]), Ours: element(ours, at.at), Interp: element(interp, at.at)}
	r.Rows = append(r.Rows, row)
	return nil
}

// diff compares a with b, of which the largest magnitude is most; nil if one is
// missing.
func diff(a, b []float32, most, limit float64) (*Diff, bool) {
	if a == nil || b == nil {
		return nil, false
	}
	d, worst := Diff{}, -1.0
	for i := range a {
		x := math.Abs(float64(a[i]) - float64(b[i]))
		if x != x {
			x = math.Inf(1)
		}
		if x > worst {
			worst, d.at = x, i
		}
	}
	d.Abs, d.Rel = Number(worst), Number(worst)
	if most > 0 {
		d.Rel = Number(worst / most)
	}
	return &d, worst > limit
}

func element(v []float32, i int) *Number {
	if v == nil {
		return nil
	}
	n := Number(v[i])
	return &n
}

// index splits an element's number by the extents of its tensor.
func index(at int, shape []int) []int {
	out := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i], at = at%shape[i], at/shape[i]
	}
	return out
}

// judge finds the first row over tolerance and what it tells.
func (r *Report) judge() {
	r.Verdict = Agrees
	if len(r.Failed) > 0 {
		r.Verdict = Incomplete
	}
	for i, row := range r.Rows {
		if !row.Over {
			continue
		}
		r.First = i
		switch {
		case row.oursOver && row.interpOver && !row.apartOver:
			r.Verdict = Graph
		case row.oursOver && row.Interp != nil && !row.interpOver:
			r.Verdict = Backend
		case row.interpOver && row.Ours != nil && !row.oursOver:
			r.Verdict = Interpreter
		default:
			r.Verdict = Unclear
		}
		return
	}
}
