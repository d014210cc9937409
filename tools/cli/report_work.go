package cli

import (
	"fmt"

	"estream/runtime"
)

// printWork tells what the experts of a run were on a device of fixed extents, in all
// and in the layer that padded most; nothing where there was none.
func (a *App) printWork(work []runtime.LayerWork) {
	if len(work) == 0 {
		return
	}
	all, most := runtime.Total(work), work[0]
	for _, w := range work {
		if w.Padding > most.Padding {
			most = w
		}
	}
	if all.Launches == 0 && all.HostExperts > 0 {
		fmt.Fprintln(a.Stdout, "device  no expert ran on the device: by the calibration each costs less on the host")
		return
	}
	tokens := all.Rows - all.HostRows
	fmt.Fprintf(a.Stdout, "device  %d launches of experts computed %d rows: %d of tokens and %d of padding (%.1f %%, most in layer %d: %.1f %%); %d second calls, %d rows of %d experts on the host\n",
		all.Launches, all.Computed, tokens, all.Computed-tokens, 100*all.Padding(), most.Layer, 100*most.Padding, all.Overflow, all.HostRows, all.HostExperts)
}

// noteDropped tells of rows that a calibration had the device leave out.
func (a *App) noteDropped(work []runtime.LayerWork) {
	if all := runtime.Total(work); all.Dropped > 0 {
		a.note("note: %d of %d rows of experts were dropped, as the calibration says: these are not the model's results", all.Dropped, all.Rows+all.Dropped)
	}
}

// workJSON is the work of each layer, never null.
func workJSON(work []runtime.LayerWork) []runtime.LayerWork {
	return append([]runtime.LayerWork{}, work...)
}
