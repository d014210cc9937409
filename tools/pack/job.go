package pack

import (
	"context"
	"errors"
	"io"
	goruntime "runtime"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"estream/ir"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

// A job is one conversion: what is to be made, and where it is to lie.
type job struct {
	o          Options
	module     *ir.Module
	records    map[string]passes.Record
	layout     layout.Plan
	man        layout.Manifest
	tasks      []task
	companions []companion
	sources    []source
	vocabSize  int // columns of the head and rows of the table
	report     Report
}

// A task is one record or block of rows to make.
type task struct {
	dense   bool
	index   int // in the manifest's Dense or Experts; the first row of a block of rows
	rows    int // of the embedding table; 0: a record
	bytes   int64
	columns [2]int // of a run of the head: from, to
}

// A maker makes what tasks are of. Its methods run concurrently.
type maker interface {
	table(ctx context.Context) (factor float32, err error) // of the embedding table; called before rows
	record(ctx context.Context, t task, out io.Writer) (factors []float32, err error)
	rows(ctx context.Context, t task) ([]byte, error)
	cost(t task) int64 // bytes of memory that making it takes, about
}

// convert makes the package dir.
func (j *job) convert(ctx context.Context, dir string, m maker, begun time.Time) (*Report, error) {
	w, err := layout.Create(ctx, dir, j.layout, layout.CreateOptions{Restart: j.o.Restart, Sync: j.o.Sync, Checked: j.o.Checked})
	switch {
	case errors.Is(err, layout.ErrFinished):
		j.report.Kept = 1
	case err != nil:
		return nil, err
	default:
		j.report.Kept = float64(w.Kept()) / float64(j.total())
		if err := j.write(ctx, w, m); err != nil {
			return nil, j.stop(w, dir, j.why(ctx, err))
		}
	}
	j.report.Written = j.layout.Experts + j.layout.Dense
	j.report.Elapsed = time.Since(begun)
	j.report.Peak = runtime.PeakBytes()
	return &j.report, nil
}

func (j *job) write(ctx context.Context, w *layout.Writer, m maker) (err error) {
	if j.man.Rows[0].Factor, err = m.table(ctx); err != nil {
		return err
	}
	if err := j.run(ctx, w, m); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // that came too late to stop the last record
		return err
	}
	for _, c := range j.companions {
		if err := c.write(w); err != nil {
			return err
		}
	}
	if err := j.unchanged(); err != nil {
		return err
	}
	return w.Finish(&j.man)
}

// total is how many bytes of records and rows there are to make.
func (j *job) total() int64 {
	n := int64(0)
	for _, t := range j.tasks {
		n += t.bytes
	}
	return n
}

// run makes every record and block of rows that is not there yet, several at a
// time, as memory allows. There is one goroutine more than workers: one of them is
// now and then in the writer, which waits for the disk.
func (j *job) run(ctx context.Context, w *layout.Writer, m maker) error {
	p := &progress{done: w.Kept(), total: j.total(), tell: j.o.Progress}
	if p.done > 0 && j.o.Resumed != nil {
		j.o.Resumed(p.done, p.total)
	}
	p.add(0)
	m = bounded{m, semaphore.NewWeighted(int64(j.workers())), semaphore.NewWeighted(budget), p}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(j.workers() + 1)
	for _, t := range j.tasks {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return j.make(ctx, w, m, t)
		})
	}
	return g.Wait()
}

// make has m make what t is of, unless it is there.
func (j *job) make(ctx context.Context, w *layout.Writer, m maker, t task) error {
	if t.rows > 0 {
		return w.Rows(j.man.Rows[0].Name, int64(t.index), int64(t.rows), func() ([]byte, error) { return m.rows(ctx, t) })
	}
	payload := func(out io.Writer) ([]float32, error) { return m.record(ctx, t, out) }
	if t.dense {
		return w.Dense(j.man.Dense[t.index], payload)
	}
	return w.Expert(j.man.Experts[t.index], payload)
}

// workers is how many records are made at a time: where nobody says, two a processor,
// one of which reads while the other rounds.
func (j *job) workers() int {
	if j.o.Workers > 0 {
		return j.o.Workers
	}
	return 2 * goruntime.GOMAXPROCS(0)
}
