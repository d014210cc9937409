package qnn

import (
	"context"
	"strings"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

// A Step is what a Device comes to that may take long. The zero Step tells that all
// steps but Running are through.
type Step struct {
	Device     string // its name
	Doing      Doing
	Chip       string // that graphs are compiled for; empty: the CPU's library has none
	Graph      string // such as c0.body@T16,S64; empty: none yet
	Number, Of int    // which of how many graphs that are compiled together, from 1; 0: one alone
}

// Doing says what is done in a Step.
type Doing string

const (
	Compiling Doing = "compiling"
	Writing   Doing = "writing" // of a DLC
	Running   Doing = "running" // of a graph, once
)

// steps is the key of a context's value.
type steps struct{}

// WithSteps returns a context whose calls of Devices tell of each Step, before it and by
// the goroutine that takes it; of several goroutines, tell is called by each.
func WithSteps(ctx context.Context, tell func(Step)) context.Context {
	return context.WithValue(ctx, steps{}, tell)
}

func tell(ctx context.Context, s Step) {
	if f, ok := ctx.Value(steps{}).(func(Step)); ok {
		f(s)
	}
}

// compiling is d's step before the first of so many graphs.
func (d *Device) compiling(chip find.SoC, graphs int) Step {
	s := Step{Device: d.name, Doing: Compiling, Of: graphs}
	if d.half() {
		s.Chip = chip.String()
	}
	return s
}

// by tells of s, which is before the first of some graphs, as a child's calls come to
// each of them.
func (s Step) by(ctx context.Context, graphs []native.Desc) (at func(call, of string)) {
	return func(_, of string) {
		for i := s.Number; i < len(graphs); i++ {
			rest, found := strings.CutPrefix(of, "graph "+graphs[i].Name)
			if found && (rest == "" || rest[0] == ':') {
				s.Number = i + 1
				s.Graph, _, _ = strings.Cut(graphs[i].Name, "#")
				tell(ctx, s)
				return
			}
		}
	}
}
