package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"estream/pager"
)

// schedules are what the flag may be, auto first.
func schedules() (names []string) {
	for s := pager.Auto; s <= pager.Guessed; s++ {
		names = append(names, s.String())
	}
	return names
}

// scheduling is the flag that says when reads may begin.
func (f *runFlags) scheduling(fl *pflag.FlagSet) {
	fl.StringVar(&f.schedule, "schedule", pager.Auto.String(), "when reads may begin: "+listed(schedules())+"; auto is guessed for prompts that touch few experts (after-routing in one bank), else before-routing")
}

func parseSchedule(s string) (pager.Schedule, error) {
	for sch := pager.Auto; sch <= pager.Guessed; sch++ {
		if s == sch.String() || s == "" {
			return sch, nil
		}
	}
	return 0, usagef("unknown schedule %q: use %s", s, listed(schedules()))
}

// listed writes words as one says them: a, b or c.
func listed(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
