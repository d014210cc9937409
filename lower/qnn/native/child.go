package native

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"
)

// A Child does jobs in a process of its own, one a job: a library that crashes on
// a graph, as some do, is an error there. What it prints does not get into this
// process's output.
type Child struct {
	Command []string // whose main calls Serve, such as this executable with a hidden argument

	// Patience is how long one call of the library may take before the process is
	// ended; 0: half an hour.
	Patience time.Duration

	// At is told of each call of the library right before it is made, by the goroutine
	// of Run; nil: nobody is.
	At func(call, of string)
}

// A report is what a child says: which call it is about to make, or, at last, how
// the job ended.
type report struct {
	Call, Of string
	Result   *Result
	Err      *Error
	Text     string // of another error
}

// reports is the file on which a child reports: its output is the library's.
const reports = 3

// Run does the job and returns what it came to. A crash is an error that names the
// call and what it was about, and so is a call that does not return; cancelling ctx
// ends the child.
func (c Child) Run(ctx context.Context, j *Job) (*Result, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("a child needs a command")
	}
	var job bytes.Buffer
	if err := gob.NewEncoder(&job).Encode(j); err != nil {
		return nil, fmt.Errorf("encode a job: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var log tail
	alive, end := context.WithCancel(ctx)
	defer end()
	cmd := exec.CommandContext(alive, c.Command[0], c.Command[1:]...)
	cmd.WaitDelay = time.Second // for what it has started, and holds its output
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &job, &log, &log, []*os.File{w}
	cmd.Env = append(os.Environ(), "GOTRACEBACK=none")
	err = cmd.Start()
	w.Close() // the child has its own
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Command[0], err)
	}
	patience := cmp.Or(c.Patience, 30*time.Minute)
	hangs := time.AfterFunc(patience, end)
	last := listen(r, func(next report) {
		hangs.Reset(patience)
		if c.At != nil && next.Call != "" {
			c.At(next.Call, next.Of)
		}
	})
	over := !hangs.Stop()
	died := cmd.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if over && last.Result == nil {
		died = fmt.Errorf("it was ended, as the call had not returned after %v", patience)
	}
	return last.outcome(died, &log)
}

// listen returns the last report that comes from r, and tells of each.
func listen(r io.Reader, came func(report)) report {
	var last report
	for d := gob.NewDecoder(r); ; came(last) {
		var next report
		if d.Decode(&next) != nil {
			return last
		}
		last = next
	}
}

// outcome returns how the job of a child ended whose last report is r.
func (r *report) outcome(died error, log *tail) (*Result, error) {
	said := log.complaint()
	switch {
	case r.Result != nil:
		r.Result.Log = log.String()
		return r.Result, nil
	case r.Err != nil:
		return nil, fmt.Errorf("%w%s", r.Err, said)
	case r.Text != "":
		return nil, errors.New(r.Text + said)
	case r.Call != "":
		return nil, fmt.Errorf("%s: %s: the process that prepared it died: %w%s", r.Of, r.Call, died, said)
	}
	return nil, fmt.Errorf("a process that prepares graphs died before it began: %v%s", died, said)
}

// Serve does the job that a Child has sent to this process, and ends the process.
func Serve() {
	signal.Ignore(os.Interrupt) // which a terminal sends to parent and child: the parent ends this process
	out := os.NewFile(reports, "reports")
	enc := gob.NewEncoder(out)
	end := func(r report) {
		status := 0
		if enc.Encode(r) != nil {
			status = 1
		}
		os.Exit(status)
	}
	var j Job
	if err := gob.NewDecoder(os.Stdin).Decode(&j); err != nil {
		end(report{Text: "decode a job: " + err.Error()})
	}
	if err := unbuffer(); err != nil {
		end(report{Text: err.Error()})
	}
	result, err := j.run(func(call, of string) {
		if enc.Encode(report{Call: call, Of: of}) != nil {
			os.Exit(1) // nobody listens
		}
	})
	var refused *Error
	switch {
	case errors.As(err, &refused):
		end(report{Err: refused})
	case err != nil:
		end(report{Text: err.Error()})
	}
	end(report{Result: result})
}

// A tail is the last of what a process printed.
type tail struct{ bytes.Buffer }

// keep is how many bytes a tail has at least, of more.
const keep = 1 << 20

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > 2*keep {
		t.Next(t.Len() - keep)
	}
	return t.Buffer.Write(p)
}

// complaint returns what in the tail looks like a reason, to end an error with:
// the first errors of the library, and how the process crashed.
func (t *tail) complaint() string {
	var found []string
	crash := func(line string) bool {
		return strings.HasPrefix(line, "SIG") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:")
	}
	for line := range strings.Lines(t.String()) {
		line = strings.TrimSpace(line)
		refusal := strings.HasPrefix(line, "<E>") || strings.Contains(line, "[ ERROR ]")
		if refusal && len(found) < 3 || crash(line) {
			found = append(found, line)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; it printed: " + strings.Join(found, "; ")
}
