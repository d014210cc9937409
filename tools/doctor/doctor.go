// Package doctor looks at a computer and says what estream finds there, what is
// missing, and how to get it.
//
// A finding that is missing or wrong has a remedy that can be followed as it
// stands. Only what the processor needs decides whether a computer is well: HTP
// and devices are more than estream needs.
package doctor

import (
	"context"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

// A State says how a finding is.
type State string

// The states.
const (
	OK      State = "ok"
	Note    State = "note"    // costs speed, or is good to know
	Missing State = "missing" // and something cannot be used
	Wrong   State = "wrong"   // is there, and does not work as it is
)

// A Finding is one thing that was looked at.
type Finding struct {
	Area   string `json:"area"` // processor, memory, disk, qnn, htp, adb
	Name   string `json:"name"`
	State  State  `json:"state"`
	Value  string `json:"value"`
	Remedy string `json:"remedy"` // of what is missing or wrong
}

// A Report is what was found.
type Report struct {
	OK        bool           `json:"ok"` // packages can be run on the processor
	Findings  []Finding      `json:"findings"`
	SoC       *find.SoC      `json:"soc"` // null if there is no HTP
	Folder    string         `json:"libraries_folder"`
	Libraries []find.Library `json:"libraries"`
}

// Options are what is looked at.
type Options struct {
	System    find.System
	Folder    string // on the disk that packages are to lie on
	Libraries string // folder of QNN's libraries that is named, "" for the usual ones
	SoC       string // the chip by name or QNN's number, "": as the system says
	ADB       string // the program, "" for that of PATH

	Built error        // why this build cannot call QNN's libraries, nil if it can
	Child native.Child // loads each library; without a command none is loaded
}

// Built returns why this build cannot call QNN's libraries, nil if it can.
func Built() error { return native.Available() }

// Examine looks at everything.
func Examine(ctx context.Context, o Options) *Report {
	r := &Report{Findings: []Finding{}, Libraries: []find.Library{}}
	r.processor(ctx)
	r.OK = len(r.Ill()) == 0
	r.memory(o.System)
	r.disk(ctx, o.Folder)
	r.qnn(ctx, o)
	r.adb(ctx, o)
	return r
}

// Ill returns the findings that are missing or wrong.
func (r *Report) Ill() (ill []Finding) {
	for _, f := range r.Findings {
		if f.State == Missing || f.State == Wrong {
			ill = append(ill, f)
		}
	}
	return ill
}

func (r *Report) add(area, name string, s State, value, remedy string) {
	r.Findings = append(r.Findings, Finding{area, name, s, value, remedy})
}
