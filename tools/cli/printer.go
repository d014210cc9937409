package cli

import (
	"errors"
	"io"
	"os"
	"regexp"
)

// A printer is stdout: it keeps the first error of a write, which Main reports,
// and shows control characters of what packages and checkpoints hold, so that
// none of them reaches a terminal.
type printer struct {
	io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) {
	if p.err == nil {
		_, p.err = io.WriteString(p.Writer, visible(string(b)))
	}
	return len(b), p.err
}

// once is the error of a command that printed to p: what p has come upon stands in
// it one time, whether the command has returned it never or more than once.
func (p *printer) once(err error) error {
	if p.err == nil {
		return err
	}
	return errors.Join(without(err, p.err), p.err)
}

// without leaves an error out of those that were joined.
func without(err, out error) error {
	if !errors.Is(err, out) {
		return err
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var rest []error
	for _, e := range joined.Unwrap() {
		rest = append(rest, without(e, out))
	}
	return errors.Join(rest...)
}

// control is what a terminal would obey. Colours are let through: check's own are.
var control = regexp.MustCompile(`\x1b\[[0-9;]*m|[\x00-\x08\x0b-\x1f\x7f-\x{9f}]`)

// visible replaces control characters, line ends, tabs and colours apart.
func visible(s string) string {
	return control.ReplaceAllStringFunc(s, func(c string) string {
		if len(c) > 2 && c[0] == '\x1b' {
			return c
		}
		return "\uFFFD"
	})
}

// file returns the file behind a writer, or nil.
func file(w io.Writer) *os.File {
	if p, ok := w.(*printer); ok {
		w = p.Writer
	}
	if s, ok := w.(stoppable); ok {
		w = s.Writer
	}
	f, _ := w.(*os.File)
	return f
}
