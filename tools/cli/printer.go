package cli

import (
	"errors"
	"io"
	"os"
	"regexp"
	"syscall"
)

// A printer is stdout: it keeps the first error of a write, which Main reports,
// and shows control characters of what packages and checkpoints hold, so that
// none of them reaches a terminal. So is stderr where more than notes go there.
type printer struct {
	io.Writer
	err error
}

func (p *printer) Write(b []byte) (int, error) { return p.keep(len(b), []byte(visible(string(b)))) }

// keep writes b and keeps the error.
func (p *printer) keep(n int, b []byte) (int, error) {
	if p.err == nil {
		_, p.err = p.Writer.Write(b)
	}
	return n, p.err
}

// left reports whether the reader of what p prints is gone, which is nothing to tell of.
func (p *printer) left() bool { return errors.Is(p.err, syscall.EPIPE) }

// A raw prints to p bytes that are no text, as they are.
type raw struct{ p *printer }

func (r raw) Write(b []byte) (int, error) { return r.p.keep(len(b), b) }

// once is the error of a command that printed to p: what p has come upon stands in
// it one time, whether the command has returned it never or more than once. A usage
// error stays one, as what diff returns is.
func (p *printer) once(err error) error {
	if p.err == nil {
		return err
	}
	joined := errors.Join(without(err, p.err), p.err)
	if usage := (usageError{}); errors.As(err, &usage) {
		return usageError{joined}
	}
	return joined
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
