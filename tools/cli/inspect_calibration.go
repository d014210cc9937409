package cli

import (
	"fmt"
	"slices"
	"strconv"

	"estream/tools/calibrate"
)

// A calibrationInfo is what a package's calibration says, as inspect shows it.
type calibrationInfo struct {
	File        string           `json:"file"`
	Unused      string           `json:"unused,omitempty"` // why no run goes by it; what follows is then empty
	Tokens      int              `json:"tokens"`
	Batch       int              `json:"batch_tokens"`
	Batches     int              `json:"batches"`
	Interrupted bool             `json:"interrupted"`
	Experts     int              `json:"experts"` // of all layers
	Reached     int              `json:"reached"` // of them, those that a token was routed to
	Half        []int            `json:"half"`    // for each layer, the fewest experts that half of its choices go to
	Choice      calibrate.Choice `json:"choice"`
	CostFrom    string           `json:"cost_from"`

	choice string // in words
}

// calibrationOf returns what the package in dir has, nil without a calibration.
func (a *App) calibrationOf(dir string) *calibrationInfo {
	c, err := a.usable(dir)
	switch {
	case err != nil:
		return &calibrationInfo{File: calibrate.Name, Unused: err.Error()}
	case c == nil:
		return nil
	}
	x := &calibrationInfo{File: calibrate.Name, Tokens: c.Tokens, Batch: c.Batch, Batches: c.Batches, Interrupted: c.Interrupted, Half: []int{}, Choice: c.Choice, CostFrom: c.CostFrom, choice: choiceText(c)}
	for _, l := range c.Layers {
		x.Experts += len(l.Counts)
		x.Reached += len(l.Counts) - len(l.Unreached)
		x.Half = append(x.Half, half(l.Popularity))
	}
	return x
}

// usable returns the calibration that a run of the package in dir goes by, nil without one.
func (a *App) usable(dir string) (*calibrate.Calibration, error) {
	c, err := calibrate.Load(dir)
	if c == nil || err != nil {
		return nil, err
	}
	module, _, err := a.stored(dir)
	if err == nil {
		_, err = calibrate.NewWatch(c, module)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// half is how many of the largest shares make half of all.
func half(shares []float64) int {
	sorted, sum := slices.Sorted(slices.Values(shares)), 0.0
	for n := range sorted {
		if sum += sorted[len(sorted)-1-n]; sum >= 0.5 {
			return n + 1
		}
	}
	return len(shares)
}

func (x *calibrationInfo) print(p func(string, ...any)) {
	switch {
	case x == nil:
		return
	case x.Unused != "":
		p("routes    the calibration is not used: %s", x.Unused)
		return
	}
	text := fmt.Sprintf("%d tokens, %d batches of %d", x.Tokens, x.Batches, x.Batch)
	if x.Interrupted {
		text += ", interrupted"
	}
	p("routes    by %s: %s; %d of %d experts reached", x.File, text, x.Reached, x.Experts)
	if len(x.Half) > 0 {
		p("routes    half of a layer's choices go to %d to %d of its experts", slices.Min(x.Half), slices.Max(x.Half))
	}
	p("routes    on a device: %s; costs %s", x.choice, oneLine(x.CostFrom))
}

// oneLine is a file's words as they are if they are fit for a line, else quoted.
func oneLine(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}
