// Package energy measures the energy that a machine uses while something runs: by
// the processor's own counters (RAPL), or else by the gauge of a battery that is
// being discharged. Both count the whole machine or the whole processor, not one
// process.
//
//	E1 nothing is guessed: where a counter cannot be read, its unit is in doubt or
//	   it moved too little, the reading is Unmeasured and says why
//	E2 a sample that fails is left out and noted; counters go on behind the gap
//
// A Meter is only read and may be used by several goroutines.
package energy

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Sources of a Reading.
const (
	RAPL       = "rapl"
	Battery    = "battery"
	Unmeasured = "unmeasured"
)

// A Reading is the energy of one measurement.
type Reading struct {
	Joules  float64            // 0 where it is Unmeasured
	Source  string             // RAPL, Battery or Unmeasured
	Domains map[string]float64 // joules of what RAPL counts apart: "package-0", "package-0/dram"
	Note    string             // why it is Unmeasured, or what is to be known of it
}

// A gauge sums energy up from sample to sample.
type gauge interface {
	sample(now time.Time) error // an error is of this sample alone
	reading() Reading           // of all samples; how many failed is not its business
}

// A Meter knows what counts energy on this machine.
type Meter struct {
	source string
	why    []string // what cannot be used, and why
	new    func() gauge
}

// Source is what readings will come from: RAPL, Battery or Unmeasured.
func (m *Meter) Source() string { return m.source }

// every is how often a measurement takes a sample: often enough for a battery's
// current, and for counters that wrap after seconds.
const every = 100 * time.Millisecond

// Open finds what counts energy in sys, which is the file system at /sys. There is
// always a Meter; one of a machine without counters gives Unmeasured readings.
func Open(sys fs.FS) *Meter {
	m := &Meter{source: Unmeasured}
	counters, why := findRAPL(sys)
	if counters != nil {
		m.source, m.new = RAPL, func() gauge { return newRAPL(sys, counters) }
		return m
	}
	m.why = append(m.why, why)
	batteries, why := findBatteries(sys)
	if batteries != nil {
		m.source, m.new = Battery, func() gauge { return newBatteries(sys, batteries) }
		return m
	}
	m.why = append(m.why, why)
	return m
}

// A Measurement is under way from Start to Stop. Its goroutine ends with Stop.
type Measurement struct {
	gauge   gauge
	why     string
	samples int
	failed  int
	last    error // of the latest sample
	stop    chan struct{}
	stopped chan struct{}
}

// Start begins a measurement.
func (m *Meter) Start() *Measurement {
	x := m.begin(time.Now())
	if x.gauge == nil {
		return x
	}
	x.stop, x.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(x.stopped)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				x.sample(time.Now())
			case <-x.stop:
				return
			}
		}
	}()
	return x
}

// begin takes the first sample.
func (m *Meter) begin(now time.Time) *Measurement {
	x := &Measurement{why: strings.Join(m.why, "; ")}
	if m.new == nil {
		return x
	}
	x.gauge = m.new()
	if x.sample(now); x.failed > 0 {
		x.gauge, x.why = nil, x.last.Error()
	}
	return x
}

func (x *Measurement) sample(now time.Time) {
	x.samples++
	if x.last = x.gauge.sample(now); x.last != nil {
		x.failed++
	}
}

// Stop ends the measurement, which it may do once.
func (x *Measurement) Stop() Reading {
	if x.stop != nil {
		close(x.stop)
		<-x.stopped
		x.sample(time.Now())
	}
	return x.end()
}

func (x *Measurement) end() Reading {
	switch {
	case x.gauge == nil:
		return Reading{Source: Unmeasured, Note: x.why}
	case x.last != nil:
		return Reading{Source: Unmeasured, Note: fmt.Sprintf("the last sample: %v", x.last)}
	}
	r := x.gauge.reading()
	if x.failed > 0 && r.Source != Unmeasured {
		r.Note = strings.TrimPrefix(r.Note+"; "+fmt.Sprintf("%d of %d samples could not be read", x.failed, x.samples), "; ")
	}
	return r
}

// Share divides joules among backends by the time that each was busy; the
// processor waits for the others meanwhile, so that all of it is theirs. It is
// empty where none was busy.
func Share(joules float64, busy map[string]time.Duration) map[string]float64 {
	total := time.Duration(0)
	for _, d := range busy {
		total += d
	}
	out := map[string]float64{}
	for name, d := range busy {
		if d > 0 {
			out[name] = joules * float64(d) / float64(total)
		}
	}
	return out
}
