// Package bench measures how fast a package prefills. Tests and fields are those
// of llama.cpp's llama-bench where they mean something here, so that its tools read
// the results; what a streamed model has beyond them follows.
//
// A test is one length of prompt on one number of threads, in chunks of one number
// of rows: a run that is thrown away, then repetitions of the same random tokens.
// Where the bubble is measured, each repetition is four: the run, the reads that it
// made with nothing computed, the same computation with all weights in memory, and
// these two at once.
//
// Bench sets GOMAXPROCS while it runs, one for each thread and reader.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"time"

	"estream/lower"
	"estream/lower/host"
	"estream/runtime"
	"estream/tools/energy"
	"estream/tools/pack"
	"estream/tools/trace"
)

// Options says what to measure. Of each list a test has one.
type Options struct {
	Packages []string        // folders
	Runtime  runtime.Options // how they run; Threads, Chunk, Host, Trace and Events are set by the bench
	Host     host.Options    // of the backend; Threads and Trace are set by the bench
	Resident bool            // all weights that runs want stay in memory: instead of Runtime.Memory and Schedule

	// Use sets what a package runs on, given the host's backend; nil: that alone.
	Use func(pkg string, o *runtime.Options, host lower.Backend)

	// Shape sets what o leaves open of the shape in which a package runs, when the rest of o is set; nil: nothing.
	Shape func(pkg string, o *runtime.Options) error

	// Opened is told of each model that is opened to be measured; nil: nobody.
	Opened func(pkg string, m *runtime.Model)

	// Census counts a package's parameters, by pack.Count; nil: they are given as 0.
	Census func(*runtime.Model) (*pack.Census, error)

	Threads     []int
	Chunks      []int // rows of a layer's body at a time, 0 is chosen; none: that alone
	Prompts     []int // tokens
	Repetitions int
	NoWarmup    bool
	Delay       time.Duration // between tests
	Seed        uint64        // that the tokens follow from

	Bubble  bool          // measure reads and computation apart, too
	Profile bool          // give Result.Profile
	Peaks   Peaks         // of one thread; zero: not known
	Energy  *energy.Meter // nil: not asked for
	Trace   *trace.Writer // nil: none

	Note     func(text string) // is told what is to be known of how a package is read, and of rows that were dropped; nil: nobody
	Progress func(text string) // is told of each plan and run; nil: nobody
}

// Peaks is what one thread of a machine does at most, in GOPS: a multiply-add is
// two operations. A zero is not known; without a peak of its own, bf16 is
// multiplied as f32.
type Peaks struct{ Int8, BF16, F32 float64 }

// Run measures each test and gives its result to report. When ctx ends it reports
// what the test under way has measured so far, if anything, and returns the error
// of ctx.
func Run(ctx context.Context, o Options, report func(*Result) error) error {
	before := goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(before)
	if o.Resident {
		keepAll(&o.Runtime)
	}
	b := &bench{Options: o, report: report}
	chunks := o.Chunks
	if len(chunks) == 0 {
		chunks = []int{0}
	}
	for _, pkg := range o.Packages {
		for _, threads := range o.Threads {
			goruntime.GOMAXPROCS(threads + cmp.Or(o.Runtime.Readers, 2)) // readers have processors of their own
			for _, b.Runtime.Chunk = range chunks {
				if err := b.session(ctx, pkg, threads); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A bench is what its sessions share.
type bench struct {
	Options
	report  func(*Result) error
	tests   int  // so far
	crowded bool // all weights were in memory beside the model: the process's peak is theirs
}

func (b *bench) note(format string, args ...any) {
	if b.Note != nil {
		b.Note(fmt.Sprintf(format, args...))
	}
}

func (b *bench) progress(format string, args ...any) {
	if b.Progress != nil {
		b.Progress(fmt.Sprintf(format, args...))
	}
}

// session runs the tests of one package on one number of threads, in chunks of one size.
func (b *bench) session(ctx context.Context, pkg string, threads int) (err error) {
	s := &session{bench: b, pkg: pkg, threads: threads}
	if s.model, err = s.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.model.Close()) }()
	for _, n := range b.Prompts { // one that does not fit is told of before another is measured
		if _, err := s.model.PlanContext(ctx, s.batch(n)); err != nil {
			return s.of(n, err)
		}
	}
	for _, n := range b.Prompts {
		if b.tests++; b.tests > 1 && b.Delay > 0 {
			if err := sleep(ctx, b.Delay); err != nil {
				return err
			}
		}
		r, err := s.test(ctx, n)
		if r != nil && len(r.SamplesNS) > 0 {
			if told := b.report(r); told != nil {
				return told
			}
		}
		if err != nil {
			return s.of(n, err)
		}
	}
	return nil
}

// of says of which test an error is.
func (s *session) of(tokens int, err error) error {
	return fmt.Errorf("%s, prompt of %d tokens: %w", s.pkg, tokens, err)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
