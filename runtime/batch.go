package runtime

import (
	"fmt"

	"estream/ir"
	"estream/lower"
)

// Logits says at which positions of a batch logits are wanted.
type Logits uint8

const (
	Last Logits = iota // of each prompt
	All
	None
)

// A Batch is prompts that run together.
type Batch struct {
	Prompts [][]int32 // token ids; none may be empty
	Logits  Logits

	// Each, where set, is given the logits of one position at a time, in order,
	// instead of Result.Logits: row is the position's place among those asked
	// for. The slice is valid until Each returns. It must not wait for another Run
	// or Plan of the model, which wait for this run.
	Each func(row int, logits []float32) error
}

// tokens returns the ids one prompt after another, and where each prompt starts.
func (b Batch) tokens(vocab int) (ids, offsets []int32, err error) {
	if len(b.Prompts) == 0 {
		return nil, nil, fmt.Errorf("the batch has no prompts")
	}
	if b.Logits > None {
		return nil, nil, fmt.Errorf("the batch asks for logits %d, want Last, All or None", b.Logits)
	}
	offsets = []int32{0}
	for i, p := range b.Prompts {
		if len(p) == 0 {
			return nil, nil, fmt.Errorf("prompt %d is empty: give at least one token", i)
		}
		for j, id := range p {
			if id < 0 || int(id) >= vocab {
				return nil, nil, fmt.Errorf("prompt %d, token %d: id %d is not in the vocabulary of %d", i, j, id, vocab)
			}
		}
		if len(ids)+len(p) > 1<<30 {
			return nil, nil, fmt.Errorf("the batch has over %d tokens", 1<<30)
		}
		ids = append(ids, p...)
		offsets = append(offsets, int32(len(ids)))
	}
	return ids, offsets, nil
}

// positions returns the rows of the batch whose logits are asked for.
func (b Batch) positions(offsets []int32) []int32 {
	var rows []int32
	switch b.Logits {
	case Last:
		for _, end := range offsets[1:] {
			rows = append(rows, end-1)
		}
	case All:
		for r := range offsets[len(offsets)-1] {
			rows = append(rows, r)
		}
	}
	return rows
}

// A step is one chunk of a batch's rows as the five inputs of a graph say it.
type step struct {
	from, to                     int
	pos, seq, past, base, parent []int32
}

// newStep has room for steps of up to chunk rows of the sequences in offsets.
func newStep(offsets []int32, chunk int) *step {
	n := len(offsets) - 1
	s := &step{pos: make([]int32, chunk), seq: make([]int32, n+1), past: make([]int32, n), base: make([]int32, n), parent: make([]int32, n)}
	for b := range n {
		s.base[b], s.parent[b] = offsets[b], -1
	}
	return s
}

// set makes s the step of rows from to to-1. Sequences that end before or start
// after them have no new tokens in it.
func (s *step) set(offsets []int32, from, to int) {
	s.from, s.to = from, to
	clip := func(x int32) int32 { return min(max(x, int32(from)), int32(to)) }
	for b := range s.past {
		lo, hi := clip(offsets[b]), clip(offsets[b+1])
		s.seq[b], s.past[b] = lo-int32(from), min(max(int32(from)-offsets[b], 0), offsets[b+1]-offsets[b])
		for r := lo; r < hi; r++ {
			s.pos[r-int32(from)] = r - offsets[b]
		}
	}
	s.seq[len(s.past)] = int32(to - from)
}

// buffers adds the step's inputs to an environment.
func (s *step) buffers(env map[string]lower.Buffer) {
	env["pos"] = int32s(s.pos[:s.to-s.from])
	env["seq"] = int32s(s.seq)
	env["past"] = int32s(s.past)
	env["base"] = int32s(s.base)
	env["parent"] = int32s(s.parent)
}

func int32s(v []int32) lower.Buffer {
	return lower.Buffer{Mem: lower.Wrap(v), Len: int64(len(v)) * 4, Type: ir.Tensor(ir.I32, ir.N(len(v)))}
}
