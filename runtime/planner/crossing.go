package planner

import "errors"

// MostTokens is the longest prompt that Crossing looks at.
const MostTokens = 1 << 20

// ErrNoCrossing is the error where reads take longer than the computation at every length.
var ErrNoCrossing = errors.New("reads take longer than the computation, however long the prompt")

// near is how much of a length the next may be apart from it and count as the same: a 64th, as no prediction is better.
const near = 64

// Crossing returns n*: about the tokens of a prompt from which a first run computes for at least as long as it reads. Below
// it the disk limits, and weights that are in memory already would be faster. at gives the choice for a length. It is
// sought from a choice whose length is known, and 1 where computing takes longer at every length.
func Crossing(known int, c Choice, at func(tokens int) (Choice, error)) (int, error) {
	low, high := 0, 0 // reads limit at low, the computation at high; 0: not known
	for n := known; ; {
		if c.First.Compute >= c.First.Reads {
			high = n
		} else {
			low = n
		}
		switch {
		case high == 1 || low > 0 && high > 0 && high-low <= max(1, low/near):
			return high, nil
		case low >= MostTokens:
			return 0, ErrNoCrossing
		case high == 0:
			n = min(2*low, MostTokens)
		case low == 0:
			n = high / 2
		default:
			n = (low + high) / 2
		}
		var err error
		if c, err = at(n); err != nil {
			return 0, err
		}
	}
}
