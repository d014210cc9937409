package pager

import "fmt"

// A Schedule says when the read of a record may begin.
type Schedule uint8

const (
	// Auto leaves the choice to whoever plans a pass; a Pager takes it for BeforeRouting.
	Auto Schedule = iota
	// BeforeRouting reads on as cells come free, a layer's experts during the layer before it. Once routes are known,
	// what nobody wants is dropped or never read, and the rest is cut anew.
	BeforeRouting
	// AfterRouting reads a stage's experts once its routes are known, dense records ahead.
	AfterRouting
	// OnDemand reads a record when the consumer asks for it: nothing overlaps.
	OnDemand
	// Guessed reads as AfterRouting does, and ahead of a stage's routes the experts that Pass.Guess named, the likeliest
	// first, into all banks but one. Once routes are known, guesses that nobody wants are dropped, and what is wanted and in no bank is read.
	Guessed
)

func (s Schedule) String() string {
	if s > Guessed {
		return fmt.Sprintf("Schedule(%d)", uint8(s))
	}
	return [...]string{"auto", "before-routing", "after-routing", "on-demand", "guessed"}[s]
}
