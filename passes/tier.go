package passes

import (
	"fmt"
	"strconv"
	"strings"

	"estream/ir"
	"estream/lower"
)

// Tiers are the extents for which a static backend has graphs. A call takes the
// smallest that holds it.
type Tiers struct {
	T []int // tokens of a step
	S []int // rows before the step: of past.0, past.1, .., not of the state that a call gives
	R []int // rows of an expert
	G []int // experts of a launch, in one tier of R; 1 is among them; none: 1 alone
	L []int // rows of the head; none: it stays on the host
	P []int // columns of the head's records, each of them: they are not padded; none: the head stays on the host
}

// staticSuffix marks the form of a graph that waits for its tiers.
const staticSuffix = "@static"

// An axis is a symbol that tiers bind, and to what.
type axis struct {
	sym   string
	sizes []int
}

// axes are in the order in which names have them.
func (t Tiers) axes() []axis {
	return []axis{{ir.T.Sym, t.T}, {ir.S.Sym, t.S}, {ir.R.Sym, t.R}, {ir.L.Sym, t.L}, {ir.P.Sym, t.P}}
}

// tierName names the tier of a graph with the given extents: "c0.body@T8,S16".
func tierName(graph string, dims lower.Dims) string {
	var tags []string
	for _, a := range (Tiers{}).axes() {
		if n, ok := dims[a.sym]; ok {
			tags = append(tags, fmt.Sprintf("%s%d", a.sym, n))
		}
	}
	return graph + "@" + strings.Join(tags, ",")
}

// ParseTier splits the name of a tier's graph into its signature's and extents.
func ParseTier(name string) (graph string, dims lower.Dims, ok bool) {
	graph, list, ok := strings.Cut(name, "@")
	dims = lower.Dims{}
	for f := range strings.SplitSeq(list, ",") {
		sym := strings.TrimRight(f, "0123456789")
		n, err := strconv.Atoi(f[len(sym):])
		if _, twice := dims[sym]; sym == "" || err != nil || n < 1 || twice {
			return "", nil, false
		}
		dims[sym] = n
	}
	return graph, dims, ok
}
