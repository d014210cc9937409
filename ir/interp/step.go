package interp

import "fmt"

// A span is what one sequence holds in a step: its tokens from..to-1 and, in a
// growing state, its rows base..base+past-1 of earlier steps.
type span struct{ from, to, past, base int }

// rows is how many rows of a growing state the sequence fills after the step.
func (s span) rows() int { return s.past + s.to - s.from }

// tokens returns the spans of a step's sequences from seq [B+1] alone.
func tokens(seq []int32, n int) ([]span, error) {
	if len(seq) == 0 || seq[0] != 0 || int(seq[len(seq)-1]) != n {
		return nil, fmt.Errorf("seq is %v, want it to run from 0 to %d, the number of tokens", seq, n)
	}
	spans := make([]span, len(seq)-1)
	for b := range spans {
		if seq[b] > seq[b+1] {
			return nil, fmt.Errorf("seq[%d] is %d after %d, want it to ascend", b+1, seq[b+1], seq[b])
		}
		spans[b] = span{from: int(seq[b]), to: int(seq[b+1])}
	}
	return spans, nil
}

// rowSpans returns the spans of a step over a growing state of capacity rows.
func rowSpans(seq, past, base *Tensor, n, capacity int) ([]span, error) {
	spans, err := tokens(seq.I, n)
	if err != nil {
		return nil, err
	}
	for b := range spans {
		s := &spans[b]
		s.past, s.base = int(past.I[b]), int(base.I[b])
		if s.past < 0 || s.base < 0 || s.base+s.rows() > capacity {
			return nil, fmt.Errorf("sequence %d: base %d, past %d and %d new rows do not fit the state's %d rows", b, s.base, s.past, s.to-s.from, capacity)
		}
	}
	return spans, disjoint(spans)
}

// disjoint reports a row that one sequence writes and another holds.
func disjoint(spans []span) error {
	for b, s := range spans {
		for o, other := range spans {
			if o != b && s.from < s.to && other.rows() > 0 && s.base+s.past < other.base+other.rows() && other.base < s.base+s.rows() {
				return fmt.Errorf("sequence %d writes rows %d to %d, of which sequence %d holds some", b, s.base+s.past, s.base+s.rows()-1, o)
			}
		}
	}
	return nil
}
