package energy

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

// powercap is where Linux shows the counters of Intel's and AMD's processors: a
// folder intel-rapl:N for each package, intel-rapl:N:M for each part of it.
const powercap = "class/powercap"

// mostWatts is more than a domain uses: a counter that may have wrapped more than
// once between two samples at that rate tells nothing.
const mostWatts = 1000

// A domain is one counter.
type domain struct {
	name string // package-0, or package-0/dram
	file string // of microjoules
	wrap uint64 // the counter's range in microjoules; 0: unknown
}

// findRAPL returns the packages and their memory, or why there is none. Cores and
// the like are part of a package, and psys of the whole: they would count twice.
func findRAPL(sys fs.FS) (found []domain, why string) {
	zones, err := fs.Glob(sys, powercap+"/intel-rapl:*")
	if err != nil || len(zones) == 0 {
		return nil, "no processor counters (" + powercap + "/intel-rapl:*)"
	}
	for _, zone := range zones {
		name, _ := word(sys, zone+"/name")
		switch {
		case strings.HasPrefix(name, "package-"):
		case name == "dram":
			parent, _ := word(sys, zone[:strings.LastIndexByte(zone, ':')]+"/name")
			name = path.Join(parent, name)
		default:
			continue
		}
		d := domain{name: name, file: zone + "/energy_uj"}
		if _, err := number(sys, d.file); err != nil {
			return nil, err.Error()
		}
		if n, err := number(sys, zone+"/max_energy_range_uj"); err == nil && n > 0 {
			d.wrap = uint64(n)
		}
		found = append(found, d)
	}
	if found == nil {
		return nil, "no package among the processor counters of " + powercap
	}
	return found, ""
}

// A rapl sums the counters of one measurement.
type rapl struct {
	sys     fs.FS
	domains []domain
	last    []uint64
	sum     []uint64 // microjoules
	at      time.Time
	broken  error // a counter went back, or may have wrapped more than once
}

func newRAPL(sys fs.FS, domains []domain) *rapl {
	return &rapl{sys: sys, domains: domains, sum: make([]uint64, len(domains))}
}

// sample reads all domains, or counts none of them.
func (r *rapl) sample(now time.Time) error {
	read := make([]uint64, len(r.domains))
	for i, d := range r.domains {
		n, err := number(r.sys, d.file)
		if err != nil {
			return err
		}
		if n < 0 {
			return fmt.Errorf("%s: %d microjoules", d.file, n)
		}
		read[i] = uint64(n)
	}
	for i := range r.last {
		n, err := r.domains[i].since(r.last[i], read[i], now.Sub(r.at))
		r.sum[i] += n
		r.broken = errors.Join(r.broken, err)
	}
	r.last, r.at = read, now
	return nil
}

// since is what the counter went on by.
func (d domain) since(last, now uint64, passed time.Duration) (uint64, error) {
	if d.wrap > 0 && passed.Seconds()*mostWatts*1e6 > float64(d.wrap) {
		return 0, fmt.Errorf("%s: not read for %v, in which it may have wrapped more than once", d.file, passed.Round(time.Second))
	}
	if now >= last {
		return now - last, nil
	}
	if d.wrap < last {
		return 0, fmt.Errorf("%s: went back from %d to %d, and its range is not known", d.file, last, now)
	}
	return d.wrap - last + now, nil
}

func (r *rapl) reading() Reading {
	if r.broken != nil {
		return Reading{Source: Unmeasured, Note: r.broken.Error()}
	}
	out := Reading{Source: RAPL, Domains: map[string]float64{}}
	for i, d := range r.domains {
		j := float64(r.sum[i]) / 1e6
		out.Domains[d.name] = j
		out.Joules += j
	}
	return out
}
