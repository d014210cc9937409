package pagertest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"syscall"
	"testing"

	"estream/pager"
)

func TestFaulty(t *testing.T) {
	data := []byte("0123456789abcdef")
	flipped := []byte("01234567\x399abcdef") // '8' with its lowest bit turned is '9'
	first := []byte("1123456789abcdef")
	tests := []struct {
		name   string
		script []Fault
		errs   []error // of three reads of everything
		bytes  [][]byte
	}{
		{"none", nil, []error{nil, nil, nil}, [][]byte{data, data, data}},
		{"from the second read", []Fault{{Kind: EIO, Read: 1, Times: 2}}, []error{nil, syscall.EIO, syscall.EIO}, [][]byte{data, nil, nil}},
		{"once", []Fault{{Kind: Truncated}}, []error{pager.ErrTruncated, nil, nil}, [][]byte{nil, data, data}},
		{"always", []Fault{{Kind: Removed, Times: -1}}, []error{fs.ErrNotExist, fs.ErrNotExist, fs.ErrNotExist}, make([][]byte, 3)},
		{"short", []Fault{{Kind: Short}}, []error{io.ErrUnexpectedEOF, nil, nil}, [][]byte{[]byte("01234567\x00\x00\x00\x00\x00\x00\x00\x00"), data, data}},
		{"flip", []Fault{{Kind: Flip, Read: 1}}, []error{nil, nil, nil}, [][]byte{data, first, data}},
		{"flip at an offset", []Fault{{Kind: Flip, Read: -1, Off: 8}}, []error{nil, nil, nil}, [][]byte{flipped, data, data}},
		{"elsewhere", []Fault{{Kind: Flip, Read: -1, Off: 16}}, []error{nil, nil, nil}, [][]byte{data, data, data}},
		{"in turn", []Fault{{Kind: EIO}, {Kind: Flip}}, []error{syscall.EIO, nil, nil}, [][]byte{nil, first, data}},
	}
	for _, tt := range tests {
		f := NewFaulty(NewMem("m", data, 4), tt.script...)
		for i := range 3 {
			p := make([]byte, 16)
			err := f.ReadAt(context.Background(), p, 0)
			if !errors.Is(err, tt.errs[i]) || tt.bytes[i] != nil && !bytes.Equal(p, tt.bytes[i]) {
				t.Errorf("%s, read %d: %q, %v, want %q, %v", tt.name, i, p, err, tt.bytes[i], tt.errs[i])
			}
		}
		if want := []Range{{0, 16}, {0, 16}, {0, 16}}; !slices.Equal(f.Reads(), want) {
			t.Errorf("%s: log %v", tt.name, f.Reads())
		}
	}
}

func TestMemRefuses(t *testing.T) {
	m := NewMem("m", make([]byte, 64), 16)
	for _, r := range []Range{{8, 16}, {0, 8}, {-16, 16}, {64, 16}, {48, 32}} {
		if err := m.ReadAt(context.Background(), make([]byte, r.Len), r.Off); err == nil {
			t.Errorf("%+v: no error", r)
		}
	}
}

// TestCheckLeaks: a reader that runs is found, one that has ended is not.
func TestCheckLeaks(t *testing.T) {
	m := New(1, 16, Shape{Dense: 1, Size: 16})
	c, _ := m.Config(t, 0, 0, 1)
	p, err := pager.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Start(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if readers() == nil {
		t.Error("a reader runs and is not found")
	}
	CheckLeaks(t)
	if _, err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
