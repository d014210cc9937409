package pager

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDescriptorInUse: Close does not wait for a call in flight, whose number stays the file's; nobody else gets it.
func TestDescriptorInUse(t *testing.T) {
	d, err := openDescriptor(filled(t, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !d.use() {
			t.Fatal("an open file is refused")
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed again: got %v, want %v", err, os.ErrClosed)
	}
	if n, err := d.pread(make([]byte, 1), 0); n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("a read after Close: got %d, %v, want %v", n, err, os.ErrClosed)
	}
	for users := 2; users > 0; users-- {
		p := make([]byte, 1)
		if _, err := unix.Pread(d.fd, p, 0); err != nil || p[0] != 1 {
			t.Errorf("%d users: read %d, %v, want 1", users, p[0], err)
		}
		if err := d.leave(); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("without users: got %v, want %v", err, os.ErrClosed)
	}
}

// TestCloseWhileReading: reads side by side get the file's bytes or os.ErrClosed, whoever is given its number.
func TestCloseWhileReading(t *testing.T) {
	mine, others := filled(t, 1), filled(t, 2)
	want := bytes.Repeat([]byte{1}, 8192)
	for range 50 {
		f, err := OpenFile(mine)
		if err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		var closed atomic.Bool
		begun := make(chan bool, 4)
		for range cap(begun) {
			readers.Go(func() {
				p := make([]byte, len(want))
				for i := 0; ; i++ {
					late := closed.Load()
					err := f.ReadAt(context.Background(), p, 0)
					if i == 0 {
						begun <- true
					}
					if errors.Is(err, os.ErrClosed) {
						return
					}
					if late || err != nil || !bytes.Equal(p, want) {
						t.Errorf("read %d, after Close %v: got %v, or bytes of another file", i, late, err)
						return
					}
				}
			})
		}
		for range cap(begun) {
			<-begun
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		for range 4 {
			other, err := os.Open(others)
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
		}
		readers.Wait()
	}
}

// filled is a file of 8192 bytes of a value.
func filled(t *testing.T, value byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, bytes.Repeat([]byte{value}, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
