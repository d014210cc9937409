package pager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"estream/pager"
	"estream/pager/pagertest"
)

// TestFetch reads a record outside of the stages, whole or with an error that names it.
func TestFetch(t *testing.T) {
	m := faultModel()
	rec := m.Stages[0].Dense[0]
	padded := (rec.Len + m.Align - 1) / m.Align * m.Align
	for _, c := range []struct {
		name  string
		flips int // of its first reads
		room  int64
		off   int64
		want  string
		is    error
	}{
		{name: "good", room: padded},
		{name: "wrong once", flips: 1, room: padded},
		{name: "wrong twice", flips: 2, room: padded, want: "read twice", is: pager.ErrChecksum},
		{name: "no room", room: padded - 1, want: fmt.Sprintf("%d bytes of memory for the %d to be read", padded-1, padded)},
		{name: "past the end", room: padded, off: m.Dense.Size(), want: "layer 0", is: pager.ErrTruncated},
	} {
		config, _ := m.Config(t, 2, 2, 1)
		config.Stages = m.Stages[1:]
		if c.flips > 0 {
			config.Dense = pagertest.NewFaulty(m.Dense, pagertest.Fault{Kind: pagertest.Flip, Read: -1, Off: rec.Off, Times: c.flips})
		}
		s := start(t, config, 1)
		r, mem := rec, make([]byte, c.room)
		r.Off += c.off
		err := s.Fetch(context.Background(), r, mem)
		switch {
		case c.want == "" && (err != nil || !bytes.Equal(mem[:rec.Len], m.Dense.Bytes(rec))):
			t.Errorf("%s: error %v, or wrong bytes", c.name, err)
		case c.want != "" && (err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.want)) || c.is != nil && !errors.Is(err, c.is)):
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		case c.is == nil && errors.Is(err, pager.ErrTruncated):
			t.Errorf("%s: error %v says that the file is short", c.name, err)
		}
		if _, err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What Fetch reads is rounded up as the source wants it, not as the arena does.
func TestFetchRoundsForTheSource(t *testing.T) {
	m := faultModel()
	rec := m.Stages[0].Dense[0]
	config, _ := m.Config(t, 2, 2, 1)
	config.Dense = finer{m.Dense}
	s := start(t, config, 1)
	mem := make([]byte, rec.Len)
	if err := s.Fetch(t.Context(), rec, mem); err != nil || !bytes.Equal(mem, m.Dense.Bytes(rec)) {
		t.Errorf("error %v, or wrong bytes", err)
	}
	if _, err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// finer is a source that reads at any place.
type finer struct{ pager.Source }

func (finer) Align() int64 { return 1 }

func (f finer) ReadAt(ctx context.Context, p []byte, off int64) error {
	align := f.Source.Align()
	all := make([]byte, (int64(len(p))+align-1)/align*align)
	err := f.Source.ReadAt(ctx, all, off)
	copy(p, all)
	return err
}

// A source from outside that panics fails the pass, and leaves it whole.
func TestSourcePanics(t *testing.T) {
	m := faultModel()
	config, _ := m.Config(t, 2, 2, 1)
	config.Dense, config.Experts = panicking{m.Dense}, panicking{m.Experts}
	s := start(t, config, 1)
	_, err := s.Dense(t.Context())
	if want := ": the source panicked: no such luck\n"; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "layer 0") {
		t.Errorf("error %v, want one of the record with %q", err, want)
	}
	if err := s.Fetch(t.Context(), m.Stages[0].Dense[0], make([]byte, m.Align)); err == nil {
		t.Error("Fetch after it: no error")
	}
	s.Close()
}

type panicking struct{ pager.Source }

func (panicking) ReadAt(context.Context, []byte, int64) error { panic("no such luck") }
