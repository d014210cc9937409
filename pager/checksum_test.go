package pager

import (
	"sync"
	"testing"
)

func TestParsePolicy(t *testing.T) {
	for p := Always; p <= Off; p++ {
		if got, err := ParsePolicy(p.String()); err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	want := `checksum "on": there are always, first and off`
	if _, err := ParsePolicy("on"); err == nil || err.Error() != want {
		t.Errorf("on: %v, want %s", err, want)
	}
}

func TestChecks(t *testing.T) {
	const align, size = 16, 16 * 130
	places := []struct {
		dense bool
		off   int64
		known bool // can be remembered
	}{
		{false, 0, true}, {true, 0, true}, {false, 16 * 63, true}, {false, 16 * 64, true}, {true, 16 * 129, true},
		{true, 8, false}, {false, -16, false}, {false, 16 << 40, false},
	}
	for p := Always; p <= Off; p++ {
		c := NewChecks(p, size, size, align)
		for i, at := range places {
			if got := c.due(at.dense, at.off); got != (p != Off) {
				t.Errorf("%v: place %d is due %v before it was right", p, i, got)
			}
			c.passed(at.dense, at.off)
			if got, want := c.due(at.dense, at.off), p == Always || p == First && !at.known; got != want {
				t.Errorf("%v: place %d is due %v after it was right, want %v", p, i, got, want)
			}
		}
	}
	if (*Checks)(nil).due(true, 0) {
		t.Error("no checks: due")
	}
}

// TestChecksTogether: no bit is lost where many are set at once.
func TestChecksTogether(t *testing.T) {
	c := NewChecks(First, 0, 16*640, 16)
	var group sync.WaitGroup
	for r := range 4 {
		group.Go(func() {
			for i := r; i < 640; i += 4 {
				c.passed(false, int64(i)*16)
			}
		})
	}
	group.Wait()
	for i := range int64(640) {
		if c.due(false, i*16) {
			t.Errorf("record %d is due", i)
		}
	}
}
