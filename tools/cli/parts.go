package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"estream/ir"
)

// checkParts checks what a program has put into the App: all have names of their
// own, and no function is missing that some command will call.
func (a *App) checkParts() error {
	p := parts{seen: map[string]bool{}}
	for _, f := range a.Families {
		p.add("family", f.Name, map[string]bool{"Layer": f.Layer != nil})
	}
	for _, f := range a.Formats {
		p.add("format", f.Name, map[string]bool{"Match": f.Match != nil, "Open": f.Open != nil})
	}
	for _, b := range a.choice() { // the host is the first
		p.add("backend", b.Name, map[string]bool{"New": b.New != nil})
	}
	p.add("source", "file", nil)
	for _, s := range a.Sources {
		p.add("source", s.Name, map[string]bool{"Open": s.Open != nil})
		if strings.Contains(s.Name, "=") {
			p.fault("source %q: what follows = is an argument, and no part of a name", s.Name)
		}
	}
	a.checkOps(&p)
	if len(p.faults) == 0 {
		return nil
	}
	slices.Sort(p.faults)
	return errors.New("this program is put together wrongly: " + strings.Join(p.faults, "; "))
}

func (a *App) checkOps(p *parts) {
	if slices.Contains(a.Ops, nil) {
		p.fault("an operator of Ops is nil")
	} else if _, err := ir.Core(a.Ops...); err != nil {
		p.fault("%v", err)
	}
	for op, f := range a.HostOps {
		p.runs("HostOps", op, f != nil)
	}
	for op, f := range a.Interp {
		p.runs("Interp", op, f != nil)
	}
}

// parts are those of a program that were looked at.
type parts struct {
	seen   map[string]bool
	faults []string
}

func (p *parts) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// add looks at a part of a kind, whose functions are there or not.
func (p *parts) add(kind, name string, functions map[string]bool) {
	key := kind + " " + name
	switch {
	case name == "":
		p.fault("a %s has no Name", kind)
	case p.seen[key]:
		p.fault("two parts are %s %q", kind, name)
	}
	p.seen[key] = true
	for function, there := range functions {
		if !there {
			p.fault("%s %q has no %s", kind, name, function)
		}
	}
}

// runs looks at an entry of a table of what runs operators.
func (p *parts) runs(table string, op *ir.Op, there bool) {
	switch {
	case op == nil:
		p.fault("%s has a nil operator", table)
	case !there:
		p.fault("operator %q has no function in %s", op.Name, table)
	}
}
