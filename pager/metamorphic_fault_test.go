package pager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"estream/pager"
	"estream/pager/pagertest"
)

// TestFaultyPasses draws models, pagers and scripts of faults, a seed each. Of a pass, each record that comes has the bytes
// of its file; its first error names a record of the model as it stands, or is the deadline's, and stays; it ends, no cell
// is lost and no reader left. When all is well again, so is the next pass.
func TestFaultyPasses(t *testing.T) {
	seeds := 1000
	if testing.Short() {
		seeds = 100
	}
	failed, n := 0, 0
	for seed := range pagertest.Seeds(t, seeds) {
		synctest.Test(t, func(t *testing.T) { failed += newUnwell(t, seed).run() })
		n++
	}
	if n >= 100 && failed < n/4 {
		t.Errorf("%d of %d seeds had passes that failed", failed, n)
	}
}

// unwell is a pager whose files go wrong, and a consumer that holds what it may.
type unwell struct {
	t     *testing.T
	rng   *rand.Rand
	m     *pagertest.Model
	c     pager.Config
	mem   []byte
	files []*pagertest.Faulty
	what  string

	pass   *pager.Pass
	groups []pager.Group
}

func newUnwell(t *testing.T, seed uint64) *unwell {
	rng := rand.New(rand.NewPCG(seed, 9))
	var shapes []pagertest.Shape
	for range 1 + rng.IntN(3) {
		shapes = append(shapes, pagertest.Shape{Dense: 1 + rng.IntN(2), Experts: 1 + rng.IntN(9), Size: 1 + rng.Int64N(200)})
	}
	u := &unwell{t: t, rng: rng, m: pagertest.New(seed, 16, append(shapes, pagertest.Shape{Dense: 3, Size: 50})...)}
	banks, group := 1+rng.IntN(4), 1+rng.IntN(4)
	u.c, u.mem = u.m.Config(t, banks, group, 1+rng.IntN(4))
	u.c.Schedule = pager.Schedule(rng.IntN(5))
	if rng.IntN(2) == 0 {
		u.c.Pins = u.m.Pins(rng)
	}
	script := pagertest.Draw(rng, []string{u.m.Dense.Name(), u.m.Experts.Name()}, 16, u.m.Experts.Size())
	late := pagertest.Fault{Kind: pagertest.Slow, Times: -1, Delay: time.Duration(rng.IntN(3)) * time.Millisecond}
	on := func(src pager.Source) pager.Source {
		f := script.On(pagertest.NewFaulty(src, late))
		u.files = append(u.files, f)
		return f
	}
	u.c.Dense, u.c.Experts = on(u.m.Dense), on(u.m.Experts)
	u.what = fmt.Sprintf("%s, %d pins\n%v", describe(u.c, u.m.Geometry(banks, group)), len(u.c.Pins), script)
	return u
}

// run reports 1 where a pass failed.
func (u *unwell) run() (failed int) {
	p, err := pager.New(u.c)
	if err != nil {
		u.t.Fatalf("%s: %v", u.what, err)
	}
	for range 3 {
		err := u.onePass(p, time.Duration(u.rng.Int64N(int64(time.Minute))))
		if err != nil {
			failed = 1
		}
		if errors.Is(err, pager.ErrStalled) {
			break
		}
	}
	for _, f := range u.files {
		f.Heal()
	}
	time.Sleep(time.Minute)
	if err := u.onePass(p, time.Hour); err != nil {
		u.t.Fatalf("%s: the pass after it: %v", u.what, err)
	}
	return failed
}

// onePass is a pass with a deadline; ErrStalled where a read of it hangs.
func (u *unwell) onePass(p *pager.Pager, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if u.pass, err = p.Start(ctx, u.rng.IntN(3)); err != nil {
		u.t.Fatalf("%s: start: %v", u.what, err)
	}
	failed := u.walk(ctx)
	if failed != nil {
		u.failed(failed)
	}
	for len(u.groups) > 0 {
		u.release()
	}
	_, err = u.pass.Close()
	if errors.Is(err, pager.ErrStalled) {
		return err
	}
	if err != nil {
		u.t.Fatalf("%s: close: %v", u.what, err)
	}
	<-u.pass.Done()
	if lost := pager.Lost(u.c); lost != nil {
		u.t.Fatalf("%s: after %v:\n%s", u.what, failed, strings.Join(lost, "\n"))
	}
	return failed
}

// walk takes the records of all stages, or of some: now and then it leaves a stage early.
func (u *unwell) walk(ctx context.Context) error {
	for l, st := range u.m.Stages {
		for range st.Dense {
			d, err := u.pass.Dense(ctx)
			if err != nil && strings.Contains(err.Error(), "has no dense record") {
				break // of a head that is not read
			}
			if err != nil {
				return err
			}
			u.same(st.Dense[d.Record], u.m.Dense, d.Pin, d.Off)
			u.pass.ReleaseDense(d)
		}
		if err := u.experts(ctx, l, st); err != nil {
			return err
		}
		for len(u.groups) > 0 {
			u.release()
		}
		u.pass.EndStage()
	}
	return nil
}

func (u *unwell) experts(ctx context.Context, l int, st pager.Stage) error {
	if len(st.Experts) == 0 {
		return nil
	}
	wanted := route(u.rng, u.m, u.rng.Float64())[l]
	if err := u.pass.Guess(l, guess(route(u.rng, u.m, u.rng.Float64())[l])); err != nil {
		return err
	}
	if err := u.pass.Route(wanted); err != nil {
		return err
	}
	if next := l + 1; u.rng.IntN(2) == 0 {
		if err := u.pass.Guess(next, guess(route(u.rng, u.m, u.rng.Float64())[next])); err != nil {
			return err
		}
	}
	for next := 0; ; {
		g, ok, err := u.pass.Next(ctx)
		if errors.Is(err, pager.ErrHeld) {
			u.release()
			continue
		}
		if err != nil {
			return err
		}
		if !ok {
			if slices.Contains(wanted[next:], true) {
				u.t.Fatalf("%s: stage %d ended at expert %d of %v", u.what, l, next, wanted)
			}
			return nil
		}
		if slices.Contains(wanted[next:max(next, g.First)], true) {
			u.t.Fatalf("%s: stage %d: %+v came after expert %d of %v", u.what, l, g, next, wanted)
		}
		next = g.First + g.Count
		for i, e := range st.Experts[g.First:next] {
			u.same(e, u.m.Experts, g.Pin, g.Off+int64(i)*g.Stride)
		}
		u.groups = append(u.groups, g)
		if u.rng.IntN(3) > 0 {
			u.release()
		}
		if u.rng.IntN(30) == 0 {
			return nil
		}
	}
}

func (u *unwell) release() {
	i := u.rng.IntN(len(u.groups))
	u.pass.Release(u.groups[i])
	u.groups = slices.Delete(u.groups, i, i+1)
}

func (u *unwell) same(rec pager.Record, src *pagertest.Mem, pin *pager.Pin, off int64) {
	u.t.Helper()
	mem := u.mem
	if pin != nil {
		mem = pin.Mem
	}
	if !bytes.Equal(mem[off:off+rec.Len], src.Bytes(rec)) {
		u.t.Fatalf("%s: %s came with wrong bytes", u.what, rec.Name)
	}
}

// failed checks the error of a pass: it is the deadline's, or names one of the model's records, and it stays.
func (u *unwell) failed(err error) {
	u.t.Helper()
	if _, again := u.pass.Dense(context.Background()); again != err && !errors.Is(err, context.DeadlineExceeded) {
		u.t.Fatalf("%s: after %v came %v", u.what, err, again)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return
	}
	var rec *pager.RecordError
	if !errors.As(err, &rec) {
		u.t.Fatalf("%s: %v names no record", u.what, err)
	}
	for _, st := range u.m.Stages {
		for file, records := range map[string][]pager.Record{u.m.Dense.Name(): st.Dense, u.m.Experts.Name(): st.Experts} {
			if slices.ContainsFunc(records, func(r pager.Record) bool {
				name, _, _ := strings.Cut(rec.Record, " and ")
				return r.Name == name && r.Off == rec.Off && file == filepath.Base(rec.File)
			}) {
				return
			}
		}
	}
	u.t.Fatalf("%s: %v: there is no such record", u.what, err)
}
