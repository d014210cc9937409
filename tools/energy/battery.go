package energy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"
)

// supplies is where Linux and Android show batteries. The documented units are
// microvolt, microampere, microampere-hour and microwatt-hour; drivers that count
// in milli are known, and the current's sign is up to them.
const supplies = "class/power_supply"

const (
	leastMoves   = 10   // of a counter, for its steps to matter little
	batteryLeast = 0.25 // watts of a machine that runs a model: less means that a unit is wrong
	batteryMost  = 250  // watts from one battery: more means the same
)

// findBatteries returns the folders of the machine's batteries, or why there is none.
func findBatteries(sys fs.FS) (found []string, why string) {
	all, err := fs.Glob(sys, supplies+"/*")
	for _, dir := range all {
		kind, _ := word(sys, dir+"/type")
		scope, _ := word(sys, dir+"/scope")
		if err == nil && kind == "Battery" && scope != "Device" {
			found = append(found, dir)
		}
	}
	if found == nil {
		return nil, "no battery (" + supplies + ")"
	}
	return found, ""
}

// batteries sums the batteries of one measurement.
type batteries struct {
	sys  fs.FS
	each []*battery
}

func newBatteries(sys fs.FS, dirs []string) *batteries {
	b := &batteries{sys: sys}
	for _, dir := range dirs {
		b.each = append(b.each, &battery{dir: dir})
	}
	return b
}

func (b *batteries) sample(now time.Time) error {
	for _, x := range b.each {
		if err := x.sample(b.sys, now); err != nil {
			return err
		}
	}
	return nil
}

func (b *batteries) reading() Reading {
	out := Reading{Source: Battery}
	var notes []string
	for _, x := range b.each {
		if x.still() {
			continue
		}
		j, how, err := x.joules(b.sys)
		if err != nil {
			return Reading{Source: Unmeasured, Note: fmt.Sprintf("%s: %v", x.dir, err)}
		}
		out.Joules += j
		notes = append(notes, fmt.Sprintf("%s by %s", x.dir, how))
	}
	if notes == nil {
		return Reading{Source: Unmeasured, Note: "no battery is being discharged: unplug the machine"}
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

// A battery is what the samples of one battery add up to, in the units of its files.
type battery struct {
	dir    string
	status string // at the first sample, as which it must stay
	broken error  // it did not
	rate   string // the file of what flows, power_now or current_now; empty: none

	began, at time.Time
	flow      float64 // of the last sample
	voltage   float64
	flowed    float64 // seconds times flow
	volts     float64 // seconds times volts

	energy, charge counted
}

// still reports whether the battery is neither charged nor discharged.
func (b *battery) still() bool { return b.status != "Discharging" }

// A counted is a file that counts what is left.
type counted struct {
	have        bool
	first, last int64
	moves       int
}

func (c *counted) sample(sys fs.FS, file string) {
	n, err := number(sys, file)
	switch {
	case err != nil:
	case !c.have:
		*c = counted{have: true, first: n, last: n}
	case n != c.last:
		c.last = n
		c.moves++
	}
}

func (b *battery) sample(sys fs.FS, now time.Time) error {
	status, _ := word(sys, b.dir+"/status")
	first := b.status == ""
	if first {
		b.status = status
	}
	switch {
	case status != b.status:
		b.broken = fmt.Errorf("its status went from %s to %s", b.status, status)
	case !slices.Contains([]string{"Discharging", "Not charging", "Full", "Unknown"}, status):
		return fmt.Errorf("%s/status is %q, and only a battery that is being discharged tells what is used: unplug the machine", b.dir, status)
	}
	if b.still() || b.broken != nil {
		return nil
	}
	volts, err := volt(sys, b.dir+"/voltage_now")
	if err != nil {
		return err
	}
	flow, err := b.flows(sys, first)
	if err != nil {
		return err
	}
	if b.began.IsZero() {
		b.began = now
	} else {
		s := now.Sub(b.at).Seconds()
		b.flowed += s * (b.flow + flow) / 2
		b.volts += s * (b.voltage + volts) / 2
	}
	b.at, b.flow, b.voltage = now, flow, volts
	b.energy.sample(sys, b.dir+"/energy_now")
	b.charge.sample(sys, b.dir+"/charge_now")
	return nil
}

// flows reads what flows now; the first time it finds out which file tells.
func (b *battery) flows(sys fs.FS, first bool) (float64, error) {
	if first {
		for _, file := range []string{"current_now", "power_now"} {
			if _, err := number(sys, b.dir+"/"+file); err == nil {
				b.rate = file
			}
		}
	}
	if b.rate == "" {
		return 0, nil // the counters may do
	}
	n, err := number(sys, b.dir+"/"+b.rate)
	return float64(n), err
}

// volt reads a voltage; batteries have 2 to 100 V, which tells the unit.
func volt(sys fs.FS, file string) (float64, error) {
	n, err := number(sys, file)
	if err != nil {
		return 0, err
	}
	for _, unit := range []float64{1e-6, 1e-3} {
		if v := float64(n) * unit; v >= 2 && v <= 100 {
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s is %d, which is no battery's in microvolts or millivolts", file, n)
}

// joules returns what was used and how that is known: by a counter that moved
// often enough, else by the power that flowed.
func (b *battery) joules(sys fs.FS) (float64, string, error) {
	seconds := b.at.Sub(b.began).Seconds()
	if b.broken != nil || seconds <= 0 {
		return 0, "", cmp.Or(b.broken, errors.New("one sample alone"))
	}
	volts := b.volts / seconds
	for _, way := range []struct {
		how    string
		usable bool
		value  float64 // in watt-seconds, but for the unit
		size   string  // the files that tell the unit
	}{
		{"energy_now", b.energy.moves >= leastMoves, 3600 * float64(b.energy.first-b.energy.last), "energy"},
		{"charge_now times voltage_now", b.charge.moves >= leastMoves, 3600 * volts * float64(b.charge.first-b.charge.last), "charge"},
		{"power_now", b.rate == "power_now", math.Abs(b.flowed), "energy"},
		{"current_now times voltage_now", b.rate == "current_now", volts * math.Abs(b.flowed), "charge"},
	} {
		if !way.usable || way.value == 0 {
			continue
		}
		j := way.value * b.unit(sys, way.size)
		if w := j / seconds; w < batteryLeast || w > batteryMost {
			return 0, "", fmt.Errorf("%s would mean %.3g W, so its unit is in doubt", way.how, w)
		}
		return j, way.how, nil
	}
	return 0, "", fmt.Errorf("its gauge tells no current and moved %d times: measure for longer", max(b.energy.moves, b.charge.moves))
}

// unit is what a driver counts in: micro, unless the battery's capacity is so small
// that it must be in milli. A battery of 0.1 Ah or 0.1 Wh runs no model, nor has a
// thing that is carried one of 100 Ah or 100 Wh.
func (b *battery) unit(sys fs.FS, size string) float64 {
	for _, file := range []string{"_full_design", "_full"} {
		if n, err := number(sys, b.dir+"/"+size+file); err == nil && n > 0 && n < 100_000 {
			return 1e-3
		}
	}
	return 1e-6
}
