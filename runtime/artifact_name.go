package runtime

import (
	"fmt"
	"slices"
	"strings"

	"estream/passes"
)

const programs = "programs"

// ProgramsName is the name of an artifact that holds the programs of a module's graphs
// of some tiers: "programs T1,16 S64 R1,4". It leaves P out, which the package says.
func ProgramsName(t passes.Tiers) string {
	name := programs
	for _, of := range []struct {
		sym   string
		sizes []int
	}{{"T", t.T}, {"S", t.S}, {"R", t.R}, {"G", t.G}, {"L", t.L}} {
		sizes := slices.Compact(slices.Sorted(slices.Values(of.sizes)))
		if len(sizes) == 0 || of.sym == "G" && slices.Equal(sizes, []int{1}) {
			continue
		}
		name += " " + of.sym + strings.ReplaceAll(strings.Trim(fmt.Sprint(sizes), "[]"), " ", ",")
	}
	return name
}

// A TierChange is the tiers of a symbol (see passes.Tiers), separated by commas, that
// an artifact was made for, and those that are wanted now; empty: none.
type TierChange struct{ Symbol, Made, Now string }

// tierChanges are those in which two names of ProgramsName differ; none where the first
// tells none.
func tierChanges(made, now string) []TierChange {
	was, is := sizesOf(made), sizesOf(now)
	var out []TierChange
	for _, sym := range []string{"T", "S", "R", "G", "L"} {
		if len(was) > 0 && was[sym] != is[sym] {
			out = append(out, TierChange{sym, was[sym], is[sym]})
		}
	}
	return out
}

// sizesOf takes a name of ProgramsName apart.
func sizesOf(name string) map[string]string {
	out := map[string]string{}
	if text, ok := strings.CutPrefix(name, programs+" "); ok {
		for _, part := range strings.Fields(text) {
			out[part[:1]] = part[1:]
		}
	}
	return out
}
