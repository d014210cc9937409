package pager_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"estream/pager"
	"estream/pager/pagertest"
)

func faultModel() *pagertest.Model {
	return pagertest.New(7, 16, pagertest.Shape{Dense: 1, Experts: 8, Size: 200}, pagertest.Shape{Dense: 1, Experts: 8, Size: 200})
}

func TestFaults(t *testing.T) {
	third := faultModel().Stages[1].Experts[3].Off
	tests := []struct {
		name    string
		dense   []pagertest.Fault
		experts []pagertest.Fault
		is      error  // nil: the walk succeeds
		text    string // part of the error
		retries int
	}{
		{name: "none"},
		{name: "EIO twice", experts: []pagertest.Fault{{Kind: pagertest.EIO, Read: 2, Times: 2}}, retries: 2},
		{name: "EIO for good", experts: []pagertest.Fault{{Kind: pagertest.EIO, Read: -1, Off: third, Times: -1}},
			is: syscall.EIO, text: "layer 1 expert", retries: 3},
		{name: "EIO in a dense record", dense: []pagertest.Fault{{Kind: pagertest.EIO, Read: 1, Times: -1}},
			is: syscall.EIO, text: "dense.bin: dense 0 of layer 1 at offset", retries: 3},
		{name: "short", experts: []pagertest.Fault{{Kind: pagertest.Short, Read: 1}}, retries: 1},
		{name: "bit flipped once", experts: []pagertest.Fault{{Kind: pagertest.Flip, Read: -1, Off: third}}, retries: 1},
		{name: "bit flipped once in a dense record", dense: []pagertest.Fault{{Kind: pagertest.Flip, Read: -1}}, retries: 1},
		{name: "bit flipped always", experts: []pagertest.Fault{{Kind: pagertest.Flip, Read: -1, Off: third, Times: -1}},
			is: pager.ErrChecksum, text: "experts.bin: layer 1 expert 3 at offset", retries: 1},
		{name: "bit flipped always in a dense record", dense: []pagertest.Fault{{Kind: pagertest.Flip, Read: -1, Times: -1}},
			is: pager.ErrChecksum, text: "dense.bin: dense 0 of layer 0 at offset 0: ", retries: 1},
		{name: "bit flipped, then EIO", experts: []pagertest.Fault{{Kind: pagertest.Flip, Read: 2}, {Kind: pagertest.EIO, Read: 3, Times: -1}},
			is: syscall.EIO, text: "experts.bin: layer 0 expert", retries: 1},
		{name: "truncated", experts: []pagertest.Fault{{Kind: pagertest.Truncated, Read: 3, Times: -1}}, is: pager.ErrTruncated},
		{name: "removed", dense: []pagertest.Fault{{Kind: pagertest.Removed, Read: 1, Times: -1}}, is: fs.ErrNotExist},
		{name: "slow", experts: []pagertest.Fault{{Kind: pagertest.Slow, Read: 1, Times: 3, Delay: time.Minute}}},
	}
	for _, schedule := range []pager.Schedule{pager.BeforeRouting, pager.AfterRouting, pager.OnDemand} {
		for _, tt := range tests {
			t.Run(schedule.String()+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := faultModel()
					c, mem := m.Config(t, 2, 2, 1)
					c.Schedule = schedule
					c.Dense, c.Experts = pagertest.NewFaulty(m.Dense, tt.dense...), pagertest.NewFaulty(m.Experts, tt.experts...)
					w := &walker{t: t, m: m, mem: mem, wanted: route(rng2(0), m, 2), heads: 1, pass: start(t, c, 1)}
					err := w.walk(context.Background())
					if !errors.Is(err, tt.is) || err != nil && !strings.Contains(err.Error(), tt.text) {
						t.Fatalf("error %v, want %v with %q", err, tt.is, tt.text)
					}
					var rec *pager.RecordError
					if err != nil && !errors.As(err, &rec) {
						t.Fatalf("%T is not a RecordError", err)
					}
					if err == nil && !slices.Equal(w.took, expected(m, w.wanted, 1)) {
						t.Fatalf("took %q", w.took)
					}
					again := w.walk(context.Background())
					st, closeErr := w.pass.Close()
					if st.Retries != tt.retries || closeErr != nil {
						t.Fatalf("%+v, %v, want %d retries", st, closeErr, tt.retries)
					}
					if err != nil && again != err {
						t.Fatalf("after %v came %v", err, again)
					}
				})
			})
		}
	}
}

// TestUnwantedFault: a record that nobody wants may be past reading.
func TestUnwantedFault(t *testing.T) {
	m := faultModel()
	c, mem := m.Config(t, 4, 1, 2)
	bad := m.Stages[0].Experts[2].Off
	c.Experts = pagertest.NewFaulty(m.Experts, pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: bad, Times: -1})
	w := &walker{t: t, m: m, mem: mem, wanted: [][]bool{picks("11011111"), picks("11111111")}, heads: 1, pass: start(t, c, 1)}
	if err := w.walk(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestCancel: however a read hangs, whoever waits for it gets away at once.
func TestCancel(t *testing.T) {
	for _, kind := range []pagertest.Kind{pagertest.Stall, pagertest.Hang} {
		for _, whole := range []bool{true, false} { // the context of the pass, or that of the call
			synctest.Test(t, func(t *testing.T) {
				m := faultModel()
				c, _ := m.Config(t, 2, 2, 2)
				src := pagertest.NewFaulty(m.Dense, pagertest.Fault{Kind: kind, Read: 0})
				c.Dense = src
				p, err := pager.New(c)
				if err != nil {
					t.Fatal(err)
				}
				why := errors.New("client is gone")
				ctx, cancel := context.WithCancelCause(context.Background())
				passCtx, callCtx := ctx, context.Background()
				if !whole {
					passCtx, callCtx = callCtx, passCtx
				}
				s, err := p.Start(passCtx, 1)
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					time.Sleep(time.Hour)
					cancel(why)
				}()
				begun := time.Now()
				_, err = s.Dense(callCtx)
				if waited := time.Since(begun); !errors.Is(err, why) || waited != time.Hour {
					t.Fatalf("after %v: %v", waited, err)
				}
				st, err := s.Close()
				if kind == pagertest.Stall {
					if err != nil || st.Wait != time.Hour {
						t.Fatalf("close: %+v, %v", st, err)
					}
					return
				}
				if !errors.Is(err, pager.ErrStalled) || !strings.Contains(err.Error(), "dense.bin: dense 0 of layer 0") {
					t.Fatalf("close while a read hangs: %v", err)
				}
				if waited := time.Since(begun); waited != time.Hour+2*time.Second {
					t.Fatalf("close took until %v", waited)
				}
				if _, err := p.Start(ctx, 1); !errors.Is(err, pager.ErrStalled) {
					t.Fatalf("start while a read hangs: %v", err)
				}
				src.Resume()
				<-s.Done()
				s, err = p.Start(context.Background(), 1)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Dense(context.Background()); err != nil {
					t.Fatal(err)
				}
				s.Close()
			})
		}
	}
}

// TestCancelBetween: a pass that is cancelled ends at the next call, with groups ready too.
func TestCancelBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := faultModel()
		c, mem := m.Config(t, 4, 2, 2)
		p, err := pager.New(c)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		w := &walker{t: t, m: m, mem: mem, wanted: route(rng2(0), m, 2), heads: 1}
		if w.pass, err = p.Start(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if err := w.stage(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		w.pass.EndStage()
		if _, err := w.pass.Dense(context.Background()); err != context.Canceled {
			t.Fatalf("after cancel: %v", err)
		}
		if err := w.pass.Route(picks("11111111")); err != context.Canceled {
			t.Fatalf("after cancel: %v", err)
		}
		if _, ok, err := w.pass.Next(context.Background()); ok || err != context.Canceled {
			t.Fatalf("after cancel: %v, %v", ok, err)
		}
		if _, err := w.pass.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCancelRetry: the pause before a retry ends with the pass.
func TestCancelRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := faultModel()
		c, _ := m.Config(t, 2, 2, 1)
		c.Dense, c.Pause = pagertest.NewFaulty(m.Dense, pagertest.Fault{Kind: pagertest.EIO, Times: -1}), time.Hour
		s := start(t, c, 1)
		synctest.Wait()
		begun := time.Now()
		if st, err := s.Close(); err != nil || st.Reads != 1 || time.Since(begun) != 0 {
			t.Fatalf("after %v: %+v, %v", time.Since(begun), st, err)
		}
	})
}

// TestNoRetry: a negative number of retries is none.
func TestNoRetry(t *testing.T) {
	m := faultModel()
	c, _ := m.Config(t, 2, 2, 1)
	c.Dense, c.Retries = pagertest.NewFaulty(m.Dense, pagertest.Fault{Kind: pagertest.EIO}), -1
	if _, err := start(t, c, 1).Dense(context.Background()); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v, want %v", err, syscall.EIO)
	}
}

// TestBusy: time is busy once, however many reads are in flight.
func TestBusy(t *testing.T) {
	for readers, want := range map[int]time.Duration{1: 3 * time.Second, 2: 2 * time.Second, 3: time.Second, 4: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := faultModel()
			c, _ := m.Config(t, 3, 1, readers)
			c.Experts = pagertest.NewFaulty(m.Experts, pagertest.Fault{Kind: pagertest.Slow, Times: -1, Delay: time.Second})
			s := start(t, c, 1)
			time.Sleep(time.Minute)
			if st, err := s.Close(); err != nil || st.Busy != want {
				t.Errorf("%d readers: %+v, %v, want busy %v", readers, st, err, want)
			}
		})
	}
}
