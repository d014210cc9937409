package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"estream/lower/qnn/find"
	"estream/pager/layout"
	"estream/runtime"
)

// noteUnused tells of compiled programs that a package keeps for the device and that a
// run has no use of: which, why as far as that is known, which others of those it keeps
// are as they are, and what makes all of them anew.
func (a *App) noteUnused(dir string, u *runtime.Unused, kept []layout.Artifact, r *routing) {
	switch {
	case u == nil:
	case u.Err == nil:
		a.note("note: of %s only experts are taken: %s=inside has the graphs of %d layers compiled at each start, with their weights in them; %s=bound takes all from the file", u.File, qnnWeights, u.Inside, qnnWeights)
	case len(u.Sizes) == 0 && u.Tapped:
		a.note("note: %s is left, and its graphs are compiled at this start: values within them are looked at", u.File)
	default:
		archs, files := []string{cmp.Or(u.Device, u.Arch)}, []string(nil)
		for _, x := range kept {
			if x.Backend == u.Backend && x.Arch != u.Arch && x.Name == u.Name {
				archs, files = append(archs, x.Arch), append(files, x.File)
			}
		}
		text := fmt.Sprintf("note: %s is left, and its graphs are compiled at each start: %s", u.File, whyUnused(u, r))
		if len(files) == 0 {
			a.note("%s: to make it anew: %s", text, prepareAgain(dir, archs...))
			return
		}
		a.note("%s\n      made alike, each for its own device: %s\n      to make all anew: %s", text, strings.Join(files, ", "), prepareAgain(dir, archs...))
	}
}

// whyUnused says in what compiled programs are not those of a run.
func whyUnused(u *runtime.Unused, r *routing) string {
	var why []string
	for _, s := range u.Sizes {
		sizes := map[string]string{"T": "tokens", "S": "tokens before them", "R": "rows of an expert", "G": "experts of a launch", "L": "rows of the head"}[s.Symbol]
		from := ""
		switch {
		case s.Symbol == "L":
			from = fmt.Sprintf(" (%s=%s)", qnnHead, cmp.Or(os.Getenv(qnnHead), "host"))
		case (s.Symbol == "R" || s.Symbol == "G") && r.calibrated():
			from = " (by the package's calibration)"
		case s.Symbol == "R" || s.Symbol == "G":
			from = " (without a calibration)"
		}
		why = append(why, fmt.Sprintf("it is for %s %s, this run has %s%s", sizes, cmp.Or(s.Made, "none"), cmp.Or(s.Now, "none"), from))
	}
	if len(why) == 0 {
		return u.Err.Error()
	}
	return strings.Join(why, "; ")
}

// prepareAgain is the command that compiles a package for some generations as runs have
// it now.
func prepareAgain(dir string, archs ...string) string {
	with := ""
	if at := os.Getenv(qnnHead); at != "" {
		with = qnnHead + "=" + quoted(at) + " "
	}
	slices.Sort(archs)
	return fmt.Sprintf("%sestream prepare --soc %s %s", with, quoted(strings.Join(slices.Compact(archs), ",")), quoted(dir))
}

// A remediedError tells what to do about another.
type remediedError struct {
	error
	text string
}

func (e remediedError) Error() string { return e.text }
func (e remediedError) Unwrap() error { return e.error }

// withFolder puts a package's folder into the commands that an error has for PACKAGE.
func withFolder(err error, dir string) error {
	if err == nil || !strings.Contains(err.Error(), " PACKAGE ") {
		return err
	}
	return remediedError{err, strings.ReplaceAll(err.Error(), " PACKAGE ", " "+quoted(dir)+" ")}
}

// remedied adds to an error of programs for other devices what makes those of this one,
// and anew those that only a newer QAIRT than this one's takes. Of several programs each
// has a line.
func remedied(err error) error {
	var e *runtime.ArtifactsError
	if !errors.As(err, &e) {
		return err
	}
	archs, lines, device := []string{e.Device}, "", ""
	for _, why := range e.Whys {
		line := why.Error()
		var m *find.Misfit
		if errors.As(why, &m) {
			device, line = ", "+m.Device.String(), fmt.Sprintf("made for %s: %s", m.Made, m.Reason)
			switch {
			case m.Made.Arch == 0 || m.Made.Arch == m.Device.Arch:
				line += ": " + m.Remedy
			case m.Newer():
				line += ", and a newer QAIRT"
			}
			if m.Newer() && m.Made.Arch != 0 {
				archs = append(archs, fmt.Sprintf("v%d", m.Made.Arch))
			}
		}
		lines += "\n    " + line
	}
	text, again := err.Error(), prepareAgain(e.Dir, archs...)
	if len(e.Whys) < 2 {
		return remediedError{err, text + ": " + again}
	}
	lines = fmt.Sprintf("none of its compiled programs is for this device%s:%s\nto make programs for it: %s", device, lines, again)
	return remediedError{err, strings.Replace(text, e.Error(), lines, 1)}
}

// plain is a word that no shell takes for anything else.
var plain = regexp.MustCompile(`^[A-Za-z0-9,._/+-]+$`)

// quoted makes one word of s for a shell, as it is where that is plain.
func quoted(s string) string {
	if strings.HasPrefix(s, "-") { // a file, and no flag
		s = "./" + s
	}
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
