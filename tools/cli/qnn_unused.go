package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"estream/runtime"
)

// noteUnused tells of compiled programs that a package keeps for the device and that a
// run has no use of: which, why as far as that is known, and what makes them anew.
func (a *App) noteUnused(dir string, u *runtime.Unused, r *routing) {
	switch {
	case u == nil:
	case u.Err == nil:
		a.note("note: of %s only experts are taken: %s=inside has the graphs of %d layers compiled at each start, with their weights in them; %s=bound takes all from the file", u.File, qnnWeights, u.Inside, qnnWeights)
	case len(u.Sizes) == 0 && u.Tapped:
		a.note("note: %s is left, and its graphs are compiled at this start: values within them are looked at", u.File)
	default:
		a.note("note: %s is left, and its graphs are compiled at each start: %s: to make it anew: %s", u.File, whyUnused(u, r), prepareAgain(dir, cmp.Or(u.Device, u.Arch)))
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

// prepareAgain is the command that compiles a package for a generation as runs have it now.
func prepareAgain(dir, arch string) string {
	with := ""
	if at := os.Getenv(qnnHead); at != "" {
		with = qnnHead + "=" + quoted(at) + " "
	}
	return fmt.Sprintf("%sestream prepare --soc %s %s", with, quoted(arch), quoted(dir))
}

// remedied adds to an error of programs for other devices what makes those of this one.
func remedied(err error) error {
	var e *runtime.ArtifactsError
	if errors.As(err, &e) {
		return fmt.Errorf("%w: %s", err, prepareAgain(e.Dir, e.Device))
	}
	return err
}

// plain is a word that no shell takes for anything else.
var plain = regexp.MustCompile(`^[A-Za-z0-9._/+-]+$`)

// quoted makes one word of s for a shell, as it is where that is plain.
func quoted(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
