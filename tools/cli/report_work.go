package cli

import (
	"fmt"

	"estream/passes"
	"estream/runtime"
)

// printWork tells what the experts of a run were on a device of fixed extents, in all
// and in the layer that padded most; nothing where there was none.
func (a *App) printWork(work []runtime.LayerWork) {
	if len(work) == 0 {
		return
	}
	var all passes.Work
	most := work[0]
	for _, w := range work {
		all.Add(w.Work)
		if w.Padding > most.Padding {
			most = w
		}
	}
	if all.Launches == 0 && all.HostExperts > 0 {
		fmt.Fprintln(a.Stdout, "device  no expert ran on the device: by the calibration each costs less on the host")
		return
	}
	fmt.Fprintf(a.Stdout, "device  %d launches of experts for %d rows, %.1f %% of what it computed padding, most in layer %d (%.1f %%); %d second calls, %d rows dropped, %d experts of %d rows on the host\n",
		all.Launches, all.Rows-all.HostRows, 100*all.Padding(), most.Layer, 100*most.Padding, all.Overflow, all.Dropped, all.HostExperts, all.HostRows)
}

// workJSON is the work of each layer, never null.
func workJSON(work []runtime.LayerWork) []runtime.LayerWork {
	return append([]runtime.LayerWork{}, work...)
}
