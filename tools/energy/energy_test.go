package energy

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

// tree is a file system at /sys.
type tree map[string]string

func (t tree) fs() fstest.MapFS {
	sys := fstest.MapFS{}
	for name, text := range t {
		sys[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return sys
}

// measure starts on the first tree and takes a sample of each of the others,
// step apart; an empty value takes a file away.
func measure(first tree, step time.Duration, later ...tree) Reading {
	sys, now := first.fs(), time.Now()
	x := Open(sys).begin(now)
	for _, change := range later {
		now = now.Add(step)
		for name, text := range change {
			if delete(sys, name); text != "" {
				sys[name] = &fstest.MapFile{Data: []byte(text + "\n")}
			}
		}
		if x.gauge != nil {
			x.sample(now)
		}
	}
	return x.end()
}

const zone = "class/powercap/intel-rapl:"

// zones is a machine of two packages, one with memory, and the parts that would
// count twice.
func zones() tree {
	return tree{
		zone + "0/name": "package-0", zone + "0/energy_uj": "1000000", zone + "0/max_energy_range_uj": "262143328850",
		zone + "0:0/name": "core", zone + "0:0/energy_uj": "7",
		zone + "0:1/name": "dram", zone + "0:1/energy_uj": "500000", zone + "0:1/max_energy_range_uj": "65712999613",
		zone + "1/name": "package-1", zone + "1/energy_uj": "262143000000", zone + "1/max_energy_range_uj": "262143328850",
		zone + "2/name": "psys", zone + "2/energy_uj": "3",
		"class/powercap/intel-rapl-mmio:0/name": "package-0", "class/powercap/intel-rapl-mmio:0/energy_uj": "1",
	}
}

// with returns t with some files changed.
func (t tree) with(change tree) tree {
	t = maps.Clone(t)
	maps.Copy(t, change)
	return t
}

func TestRAPL(t *testing.T) {
	r := measure(zones(), time.Second,
		tree{zone + "0/energy_uj": "31000000", zone + "0:1/energy_uj": "2500000"},
		tree{zone + "0/energy_uj": "61000000", zone + "1/energy_uj": "9671150", zone + "0:0/energy_uj": "9000000"})
	require.Equal(t, RAPL, r.Source, r.Note)
	require.InDeltaMapValues(t, map[string]float64{"package-0": 60, "package-0/dram": 2, "package-1": 10}, r.Domains, 1e-9)
	require.InDelta(t, 72, r.Joules, 1e-9)
	require.Empty(t, r.Note)
}

// A counter that wraps is counted on; what cannot be read is a gap, or no reading.
func TestRAPLGaps(t *testing.T) {
	small := zones().with(tree{zone + "0/max_energy_range_uj": "100000000", zone + "1/name": "psys"}) // 100 J
	for _, c := range []struct {
		name  string
		first tree
		step  time.Duration
		later []tree
		want  float64 // 0: unmeasured
		note  string
	}{
		{"wraps", small, 10 * time.Millisecond, []tree{{zone + "0/energy_uj": "90000000"}, {zone + "0/energy_uj": "5000000"}}, 104, ""},
		{"wraps, range unknown", small.with(tree{zone + "0/max_energy_range_uj": "none"}), time.Second, []tree{{zone + "0/energy_uj": "5"}}, 0,
			zone + "0/energy_uj: went back from 1000000 to 5, and its range is not known"},
		{"wraps, how often is not known", small, time.Second, []tree{{zone + "0/energy_uj": "5"}}, 0,
			zone + "0/energy_uj: not read for 1s, in which it may have wrapped more than once"},
		{"gap", zones(), time.Second, []tree{{zone + "0/energy_uj": ""}, {zone + "0/energy_uj": "4000000"}}, 3, "1 of 3 samples could not be read"},
		{"garbage within", zones(), time.Second, []tree{{zone + "0/energy_uj": "x"}, {zone + "0/energy_uj": "-5"}, {zone + "0/energy_uj": "4000000"}}, 3, "2 of 4 samples could not be read"},
		{"ends in a gap", zones(), time.Second, []tree{{zone + "0/energy_uj": "4000000"}, {zone + "0/energy_uj": ""}}, 0,
			"the last sample: open " + zone + "0/energy_uj: file does not exist"},
		{"no number", zones().with(tree{zone + "0/energy_uj": "lots"}), time.Second, nil, 0,
			zone + `0/energy_uj: "lots\n" is no number; no battery (class/power_supply)`},
		{"no package", tree{zone + "0/name": "psys", zone + "0/energy_uj": "1"}, time.Second, nil, 0,
			"no package among the processor counters of class/powercap; no battery (class/power_supply)"},
		{"nothing", tree{}, time.Second, nil, 0, "no processor counters (class/powercap/intel-rapl:*); no battery (class/power_supply)"},
	} {
		r := measure(c.first, c.step, c.later...)
		require.InDelta(t, c.want, r.Joules, 1e-9, "%s: %+v", c.name, r)
		require.Equal(t, c.want == 0, r.Source == Unmeasured, "%s: %+v", c.name, r)
		require.Equal(t, c.note, r.Note, c.name)
	}
}

// The counters of most machines are root's alone.
func TestPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		sys := denied{zones().fs()}
		require.Contains(t, Open(sys).Start().Stop().Note, "energy_uj: permission denied: only root may read it, unless its mode is changed")
		return
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, zones().fs()))
	require.NoError(t, os.Chmod(filepath.Join(dir, zone+"0/energy_uj"), 0))
	require.Contains(t, Open(os.DirFS(dir)).Start().Stop().Note, "permission denied")
}

// denied is a file system whose counters root alone may read.
type denied struct{ fstest.MapFS }

func (d denied) ReadFile(name string) ([]byte, error) {
	if filepath.Base(name) == "energy_uj" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.ReadFile(name)
}

const bat = "class/power_supply/BAT0/"

// notebook is a battery of 50 Wh that is being discharged.
func notebook(files tree) tree {
	return tree{
		"class/power_supply/AC/type": "Mains", "class/power_supply/mouse/type": "Battery", "class/power_supply/mouse/scope": "Device",
		bat + "type": "Battery", bat + "status": "Discharging", bat + "voltage_now": "12000000",
	}.with(files)
}

func TestBattery(t *testing.T) {
	energy, charge := counting("energy_now", 40_000_000, 10_000), counting("charge_now", 3_000_000, 1000)
	for _, c := range []struct {
		name  string
		files tree
		later []tree
		want  float64 // joules; 0: unmeasured
		note  string
	}{
		{"energy", tree{"energy_now": "40010000", "energy_full_design": "50000000"}, energy, 12 * 36, "energy_now"},
		{"energy in mWh", tree{"energy_now": "40010", "energy_full": "50000"}, counting("energy_now", 40_000, 10), 12 * 36, "energy_now"},
		{"charge", tree{"charge_now": "3001000", "charge_full_design": "4000000"}, charge, 12 * 3.6 * 12, "charge_now times voltage_now"},
		{"charge that moves too little", tree{"charge_now": "3001000"}, charge[:5], 0, "its gauge tells no current and moved 5 times: measure for longer"},
		{"current", tree{"current_now": "2000000", "charge_now": "3001000", "charge_full": "4000000"}, charge[:5], 12 * 2 * 5, "current_now times voltage_now"},
		{"current, negative, in mA and mV", tree{"current_now": "-2000", "voltage_now": "12000", "charge_full": "4000"}, make([]tree, 5), 12 * 2 * 5, "current_now times voltage_now"},
		{"current in mA, capacity in uAh", tree{"current_now": "-2000", "charge_full": "4000000"}, make([]tree, 5), 0, "current_now times voltage_now would mean 0.024 W, so its unit is in doubt"},
		{"current in uA, capacity in mAh", tree{"current_now": "2000000", "charge_full": "4000"}, make([]tree, 5), 0, "would mean 2.4e+04 W, so its unit is in doubt"},
		{"power", tree{"power_now": "20000000", "energy_full": "50000000"}, make([]tree, 3), 60, "power_now"},
		{"no gauge", tree{}, make([]tree, 3), 0, "its gauge tells no current and moved 0 times: measure for longer"},
		{"no voltage", tree{"voltage_now": "12"}, nil, 0, "voltage_now is 12, which is no battery's in microvolts or millivolts"},
		{"charging", tree{"status": "Charging"}, nil, 0, `status is "Charging", and only a battery that is being discharged tells what is used: unplug the machine`},
		{"full", tree{"status": "Full"}, make([]tree, 3), 0, "no battery is being discharged: unplug the machine"},
		{"plugged in meanwhile", tree{"power_now": "20000000"}, []tree{nil, {bat + "status": "Charging"}, {bat + "status": "Discharging"}}, 0,
			"its status went from Discharging to Charging"},
		{"one sample", tree{"power_now": "20000000"}, nil, 0, "one sample alone"},
	} {
		files := tree{}
		for name, text := range c.files {
			files[bat+name] = text
		}
		r := measure(notebook(files), time.Second, c.later...)
		require.Contains(t, r.Note, c.note, c.name)
		require.Equal(t, c.want == 0, r.Source == Unmeasured, "%s: %+v", c.name, r)
		if c.want != 0 {
			require.InEpsilon(t, c.want, r.Joules, 1e-9, "%s: %+v", c.name, r)
			require.Equal(t, Battery, r.Source)
		}
	}
}

// counting is a counter that falls by step a sample, twelve times.
func counting(file string, from, step int) []tree {
	var out []tree
	for i := range 12 {
		out = append(out, tree{bat + file: fmt.Sprint(from - i*step)})
	}
	return out
}

// The goroutine of a measurement ends with it, on a real folder.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, zones().fs()))
	require.Equal(t, Unmeasured, Open(os.DirFS(t.TempDir())).Source())
	require.Equal(t, Battery, Open(notebook(nil).fs()).Source())
	m := Open(os.DirFS(dir))
	require.Equal(t, RAPL, m.Source())
	x := m.Start()
	require.NoError(t, os.WriteFile(filepath.Join(dir, zone+"0/energy_uj"), []byte("3000000\n"), 0o600))
	r := x.Stop()
	require.Equal(t, []any{RAPL, 2.0}, []any{r.Source, r.Joules}, r.Note)
	require.NotNil(t, x.stopped)
	_, open := <-x.stopped
	require.False(t, open)
}

func TestShare(t *testing.T) {
	got := Share(10, map[string]time.Duration{"host": 3 * time.Second, "npu": time.Second, "idle": 0})
	require.Equal(t, map[string]float64{"host": 7.5, "npu": 2.5}, got)
	require.Empty(t, Share(10, nil))
}
