package ir

import "fmt"

// A Span is what one sequence holds in a step: its tokens From..To-1 and, in a
// growing state, its rows of earlier steps, Base..Base+Past-1. Those of the step
// follow them.
type Span struct {
	From, To   int
	Past, Base int
	Parent     int // the sequence whose rows it sees before its own; -1: none
	Prefix     int // how many of those it sees
	First      int // the row of the state where they start
}

// Rows is how many rows of a growing state the sequence holds after the step.
func (s Span) Rows() int { return s.Past + s.To - s.From }

// StepData is the tensors of a Step. An op that has fewer operands leaves the
// others nil: Seq alone, Seq with Past and Base, or all.
type StepData struct{ Pos, Seq, Past, Base, Parent []int32 }

// Spans appends the sequences of a step of so many tokens, over a growing state
// of capacity rows, to spans. It is an error if
//
//	Seq does not ascend from 0 to tokens
//	rows of a sequence are not all in the state
//	a sequence writes a row that another one holds
//	a parent is none of the step, has one itself, or has not the rows that its child sees
func (d StepData) Spans(spans []Span, tokens, capacity int) ([]Span, error) {
	if err := CheckSeq(d.Seq, tokens); err != nil {
		return nil, err
	}
	first := len(spans)
	for b := range len(d.Seq) - 1 {
		spans = append(spans, Span{From: int(d.Seq[b]), To: int(d.Seq[b+1]), Parent: -1})
	}
	own := spans[first:]
	if d.Past == nil && d.Base == nil {
		return spans, nil
	}
	if err := d.place(own, capacity); err != nil {
		return nil, err
	}
	if d.Pos == nil && d.Parent == nil {
		return spans, nil
	}
	if len(d.Pos) != tokens || len(d.Parent) != len(own) {
		return nil, fmt.Errorf("%d positions of %d tokens and %d parents of %d sequences", len(d.Pos), tokens, len(d.Parent), len(own))
	}
	for b := range own {
		if err := d.join(own, b); err != nil {
			return nil, fmt.Errorf("sequence %d: %w", b, err)
		}
	}
	return spans, nil
}

// CheckSeq reports a Seq that does not ascend from 0 to the number of tokens.
func CheckSeq(seq []int32, tokens int) error {
	if len(seq) == 0 || seq[0] != 0 || int(seq[len(seq)-1]) != tokens {
		return fmt.Errorf("seq is %v, want it to run from 0 to %d, the number of tokens", seq, tokens)
	}
	for b := range len(seq) - 1 {
		if seq[b] > seq[b+1] {
			return fmt.Errorf("seq[%d] is %d after %d, want it to ascend", b+1, seq[b+1], seq[b])
		}
	}
	return nil
}

// place sets the rows that the sequences hold.
func (d StepData) place(spans []Span, capacity int) error {
	if len(d.Past) != len(spans) || len(d.Base) != len(spans) {
		return fmt.Errorf("%d pasts and %d bases of %d sequences", len(d.Past), len(d.Base), len(spans))
	}
	end, ascend := 0, true
	for b := range spans {
		s := &spans[b]
		s.Past, s.Base = int(d.Past[b]), int(d.Base[b])
		if s.Past < 0 || s.Base < 0 || s.Base+s.Rows() > capacity {
			return fmt.Errorf("sequence %d: base %d, past %d and %d new rows do not fit the state's %d rows", b, s.Base, s.Past, s.To-s.From, capacity)
		}
		if s.Rows() > 0 {
			ascend, end = ascend && s.Base >= end, s.Base+s.Rows()
		}
	}
	if ascend {
		return nil
	}
	return disjoint(spans)
}

// disjoint reports a row that one sequence writes and another holds.
func disjoint(spans []Span) error {
	for b, s := range spans {
		for o, other := range spans {
			if o != b && s.From < s.To && other.Rows() > 0 && s.Base+s.Past < other.Base+other.Rows() && other.Base < s.Base+s.Rows() {
				return fmt.Errorf("sequence %d writes rows %d to %d, of which sequence %d holds some", b, s.Base+s.Past, s.Base+s.Rows()-1, o)
			}
		}
	}
	return nil
}

// join sets what sequence b sees of its parent: the position of its first token
// less its own rows is how many rows.
func (d StepData) join(spans []Span, b int) error {
	s, p := &spans[b], int(d.Parent[b])
	if p == -1 || s.From == s.To {
		return nil
	}
	if p < 0 || p >= len(spans) || d.Parent[p] != -1 {
		return fmt.Errorf("parent %d is not a sequence of the step without a parent", p)
	}
	s.Parent, s.Prefix, s.First = p, int(d.Pos[s.From])-s.Past, spans[p].Base
	if rows := spans[p].Rows(); s.Prefix < 0 || s.Prefix > rows {
		return fmt.Errorf("it starts behind %d rows of parent %d, which has %d", s.Prefix, p, rows)
	}
	return nil
}
