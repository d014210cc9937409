package pager

import "fmt"

// Lost is the cells of a configuration that are not free, though its last pass is over and nothing of it is held.
func Lost(c Config) []string {
	var lost []string
	for _, cells := range [][]cell{c.Arena.slots, c.Arena.banks} {
		for i := range cells {
			if x := &cells[i]; x.state != Available || x.dropped || x.err != nil {
				lost = append(lost, fmt.Sprintf("cell at %d: %v, dropped %v, error %v", x.off, x.state, x.dropped, x.err))
			}
		}
	}
	for _, p := range c.Pins {
		if x := &p.cell; x.state == Filling || x.state == InUse {
			lost = append(lost, fmt.Sprintf("pin of stage %d, record %d: %v", p.Stage, p.First, x.state))
		}
	}
	return lost
}
