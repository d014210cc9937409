package cli

import (
	"context"
	"fmt"

	"estream/lower/qnn"
)

// compiling returns a context in which what QNN's devices compile is shown while it goes
// on, whatever command has them do it. A command that shows what it is at by itself has
// a context of its own.
func (a *App) compiling(ctx context.Context) context.Context {
	o := a.ongoing(ctx)
	return qnn.WithSteps(ctx, func(s qnn.Step) {
		switch {
		case s.Doing == "":
			o.end()
		case s.Doing != qnn.Running: // of runs commands tell, if they are asked to
			o.at(s.Device, stepText(s))
		}
	})
}

// stepText says what a device is at.
func stepText(s qnn.Step) string {
	text := string(s.Doing)
	if s.Chip != "" {
		text += " for " + s.Chip
	}
	switch {
	case s.Of == 0:
		return text + " " + s.Graph
	case s.Number == 0:
		return fmt.Sprintf("%s, %d graphs", text, s.Of)
	}
	return fmt.Sprintf("%s, graph %d of %d, %s", text, s.Number, s.Of, s.Graph)
}

// tells begins work, and returns a context in which o says what QNN's devices are at
// meanwhile.
func (o *ongoing) tells(ctx context.Context, what string) context.Context {
	ran := 0
	o.at(what, "")
	return qnn.WithSteps(ctx, func(s qnn.Step) {
		switch {
		case s.Doing == "":
			o.at(what, "")
		case s.Doing == qnn.Running:
			ran++
			o.at(what, fmt.Sprintf("graph run %d, %s", ran, s.Graph))
		default:
			o.at(what, stepText(s))
		}
	})
}
