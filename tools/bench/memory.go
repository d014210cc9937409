package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"estream/pager"
	"estream/runtime"
)

// residentMemory is a budget that no model fills: runtime.Options.Memory of a model
// whose weights all stay in memory.
const residentMemory = 1 << 45

// keepAll has a model keep all weights that its runs want in memory. Nothing is read
// ahead of routes: guesses would go on reading weights that no run has wanted yet.
func keepAll(o *runtime.Options) {
	o.Memory, o.Schedule = residentMemory, pager.AfterRouting
}

// spare refuses to keep weights of so many bytes in memory of which less is free.
func spare(need, free int64) error {
	if free > 0 && need > free {
		return fmt.Errorf("the weights are %s, and %s of memory are free", size(need), size(free))
	}
	return nil
}

// available is the memory that the system can give, 0 where it does not tell.
func available() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}
