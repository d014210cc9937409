package runtime

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"estream/lower"
)

// memories are the allocations of a model, kept from run to run by purpose.
type memories map[string]lower.Mem

// get returns zeroed or reused memory of exactly n bytes for a purpose.
func (ms *memories) get(on lower.Compiled, purpose string, n, align int64) (lower.Mem, error) {
	if old := (*ms)[purpose]; old != nil {
		if int64(len(old.Bytes())) == n {
			return old, nil
		}
		delete(*ms, purpose)
		if err := old.Free(); err != nil {
			return nil, err
		}
	}
	mem, err := on.Alloc(n, align)
	if err != nil {
		return nil, err
	}
	if *ms == nil {
		*ms = memories{}
	}
	(*ms)[purpose] = mem
	return mem, nil
}

func (ms *memories) free() error {
	var errs []error
	for _, m := range *ms {
		errs = append(errs, m.Free())
	}
	*ms = nil
	return errors.Join(errs...)
}

// residentBytes is what the process has in memory now, 0 where the system does
// not tell; PeakBytes the most it ever had.
func residentBytes() int64 { return procStatus("VmRSS:") }

// PeakBytes returns the largest resident size that the process has had, 0 where
// the system does not tell (Linux and Android do).
func PeakBytes() int64 { return procStatus("VmHWM:") }

func procStatus(field string) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if v, ok := strings.CutPrefix(line, field); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kb * 1024
		}
	}
	return 0
}
