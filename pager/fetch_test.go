package pager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
