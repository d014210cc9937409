package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"estream/tools/calibrate"
)

// tellCalibration writes the file, unless a better one stands there, and prints what it
// says.
func (a *App) tellCalibration(c *calibrate.Calibration, dir string, f calibrateFlags, out *output) error {
	kept, whole := out.path, c.Interrupted && complete(out.path, dir)
	if whole {
		kept += ", as it was"
	} else if err := writeCalibration(c, out); err != nil {
		return err
	}
	for _, l := range c.Layers {
		if n := len(l.Unreached); n > 0 {
			a.note("warning: layer %d: no token reached %d of %d experts: %s", l.Layer, n, len(l.Counts), list(l.Unreached))
		}
	}
	switch {
	case whole:
		a.note("note: interrupted after %d batches, which are not kept: %s, by the whole of its text, stays; -o FILE keeps them in another place", c.Batches, out.path)
	case c.Interrupted:
		a.note("note: interrupted after %d batches, which are kept", c.Batches)
	}
	if f.output == "" && !whole {
		a.noteOutgrown(dir, c)
	}
	if f.asJSON {
		return a.printJSON(c)
	}
	return a.printCalibration(c, kept)
}

func writeCalibration(c *calibrate.Calibration, out *output) error {
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if _, err := out.Write(append(data, '\n')); err != nil {
		return err
	}
	return out.finish()
}

// complete reports whether a file has a calibration of the package in dir by the whole
// of a text.
func complete(path, dir string) bool {
	c, err := calibrate.Read(path, dir)
	return err == nil && c != nil && !c.Interrupted
}

// list prints numbers, runs of them shortened: 0, 2-5.
func list(ns []int) string {
	var out []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if out = append(out, fmt.Sprint(ns[i])); j > i {
			out[len(out)-1] += fmt.Sprintf("-%d", ns[j])
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

func (a *App) printCalibration(c *calibrate.Calibration, kept string) error {
	us := func(s float64) float64 { return s * 1e6 }
	fmt.Fprintf(a.Stdout, "text      %d tokens, %d batches of %d\n", c.Tokens, c.Batches, c.Batch)
	fmt.Fprintf(a.Stdout, "cost      launch %.1f us, expert %.2f us, row %.3f us; on the host expert %.2f us, row %.3f us: %s\n",
		us(c.Cost.Launch), us(c.Cost.Body), us(c.Cost.Row), us(c.Cost.HostExpert), us(c.Cost.HostRow), c.CostFrom)
	fmt.Fprintf(a.Stdout, "choice    %s\nkept      %s\n\n", choiceText(c), kept)
	if err := a.printLayers(c); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	return a.printDesigns(c)
}

// choiceText says what a device is given.
func choiceText(c *calibrate.Calibration) string {
	if c.AllOnHost() {
		return "all experts run on the host, the device gets none"
	}
	x := c.Choice
	text := fmt.Sprintf("tiers of %v rows, launches of %v experts", x.Rows, x.Groups)
	if x.Host {
		text += ", the rest on the host"
	}
	if x.Drop {
		text += ", rows beyond the largest tier dropped"
	}
	return text
}

func (a *App) printLayers(c *calibrate.Calibration) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "layer\treached\tmost popular\trows p50\tp99\tmost\tpadding\toverflow\tlaunches\tdropped\ton host\tdrift p50\talarm at\t")
	works := c.Designs[len(c.Designs)-1].Layers
	for i, l := range c.Layers {
		x, drift := works[i], "-"
		if len(l.Spread) > 0 {
			drift = fmt.Sprintf("%.2f", l.Spread[0])
		}
		fmt.Fprintf(w, "%d\t%d/%d\t%.1f %%\t%d\t%d\t%d\t%.1f %%\t%d\t%d\t%d\t%.1f %%\t%s\t%.2f\t\n", l.Layer, len(l.Counts)-len(l.Unreached), len(l.Counts), 100*slices.Max(l.Popularity),
			quantile(l.Rows, 0.5), quantile(l.Rows, 0.99), quantile(l.Rows, 1), 100*x.Padding(), x.Overflow, x.Launches, x.Dropped, hundredths(x.HostRows, x.Rows), drift, l.Threshold)
	}
	return w.Flush()
}

func hundredths(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// quantile returns the rows that a share of the times do not exceed.
func quantile(rows [][2]int, share float64) int {
	total, sum := 0, 0
	for _, r := range rows {
		total += r[1]
	}
	for _, r := range rows {
		if sum += r[1]; float64(sum) >= share*float64(total) {
			return r[0]
		}
	}
	return 0
}

func (a *App) printDesigns(c *calibrate.Calibration) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "design\ttiers\tpadding\tlaunches\toverflow\tdropped\trows on host\tms a batch\tof one tier\t")
	for _, d := range c.Designs {
		fmt.Fprintf(w, "%s\t%s\t%.1f %%\t%d\t%d\t%d\t%.1f %%\t%.3f\t%.2f\t\n", d.Name, strings.Trim(fmt.Sprint(d.Rows), "[]"), 100*d.Padding, d.Total.Launches, d.Total.Overflow, d.Total.Dropped,
			hundredths(d.Total.HostRows, d.Total.Rows), 1e3*d.Seconds, d.Seconds/max(c.Designs[0].Seconds, 1e-12))
	}
	return w.Flush()
}
