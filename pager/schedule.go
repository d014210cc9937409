package pager

import "fmt"

// A Schedule says when the read of a record may begin.
type Schedule uint8

const (
	// BeforeRouting reads on as cells come free, a layer's experts during the layer before it. Once routes are known,
	// what nobody wants is dropped or never read, and the rest is cut anew.
	BeforeRouting Schedule = iota
	// AfterRouting reads a stage's experts once its routes are known, dense records ahead.
	AfterRouting
	// OnDemand reads a record when the consumer asks for it: nothing overlaps.
	OnDemand
)

func (s Schedule) String() string {
	switch s {
	case BeforeRouting:
		return "before-routing"
	case AfterRouting:
		return "after-routing"
	case OnDemand:
		return "on-demand"
	}
	return fmt.Sprintf("Schedule(%d)", uint8(s))
}
