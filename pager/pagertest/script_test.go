package pagertest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

var scripts = []struct {
	text  string
	want  Script
	again string // as it is printed
}{
	{"", nil, ""},
	{"# nothing\n\n", nil, ""},
	{"a eio", Script{{"a", Fault{Kind: EIO, Times: 1}}}, "a eio read 0\n"},
	{"a eio read 3 times 2 # late", Script{{"a", Fault{Kind: EIO, Read: 3, Times: 2}}}, "a eio read 3 times 2\n"},
	{"a eio byte 7 read 3", Script{{"a", Fault{Kind: EIO, Read: 3, Times: 1}}}, "a eio read 3\n"},
	{"a flip byte 16384 always", Script{{"a", Fault{Kind: Flip, Read: -1, Off: 16384, Times: -1}}}, "a flip byte 16384 always\n"},
	{"a flip bit 9\nb stall byte 0", Script{{"a", Fault{Kind: Flip, Bit: 9, Times: 1}}, {"b", Fault{Kind: Stall, Read: -1, Times: 1}}},
		"a flip read 0 bit 9\nb stall byte 0\n"},
	{"\ta  slow for 20ms times 0", Script{{"a", Fault{Kind: Slow, Delay: 20 * time.Millisecond, Times: 1}}}, "a slow read 0 for 20ms\n"},
}

func TestParseScript(t *testing.T) {
	for _, tt := range scripts {
		got, err := ParseScript(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) || got.String() != tt.again {
			t.Errorf("%q: %+v, %v, printed %q; want %+v, %q", tt.text, got, err, got, tt.want, tt.again)
		}
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a":               "line 1: a: what goes wrong is missing",
		"a eio\na fire":   `line 2: a: unknown fault "fire", there are [eio short flip truncated removed stall hang slow]`,
		"a eio read":      `line 1: "read" lacks its value`,
		"a eio read x":    `line 1: read "x": not such a value`,
		"a eio read -1":   `line 1: read "-1": not such a value`,
		"a slow for 20":   `line 1: for "20": not such a value`,
		"a slow for -20s": `line 1: for "-20s": not such a value`,
		"a eio when 1":    `line 1: unknown word "when", there are read, byte, bit, for, times and always`,
	} {
		if _, err := ParseScript(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParseScript: what is read is printed so that it is read again.
func FuzzParseScript(f *testing.F) {
	for _, tt := range scripts {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript(text)
		if err != nil {
			return
		}
		if again, err := ParseScript(s.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%q: %+v, printed %q, then %+v, %v", text, s, s, again, err)
		}
	})
}

// TestDraw: each kind, place and number is drawn, and a script as text is the same script.
func TestDraw(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[Kind]int{}
	for range 500 {
		s := Draw(rng, []string{"a", "b"}, 9, 4096)
		for _, l := range s {
			seen[l.Kind]++
		}
		if again, err := ParseScript(s.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Fatalf("%+v, printed %q, then %+v, %v", s, s, again, err)
		}
	}
	if len(seen) != len(Kinds()) {
		t.Errorf("drawn kinds %v", seen)
	}
}

// TestScriptOn: a file has its own faults, whatever its folder, until it is healed.
func TestScriptOn(t *testing.T) {
	s, err := ParseScript("b.bin eio always\na.bin slow for 1h\na.bin eio read 1\na.bin flip read 2\na.bin hang read 3\na.bin eio read 4 always")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f, begun := s.On(NewMem("folder/a.bin", make([]byte, 16), 1)), time.Now()
		read := func() ([]byte, error) {
			p := make([]byte, 16)
			return p, f.ReadAt(context.Background(), p, 0)
		}
		if _, err := read(); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("slow read: %v after %v", err, time.Since(begun))
		}
		if _, err := read(); !errors.Is(err, syscall.EIO) {
			t.Errorf("second read: %v", err)
		}
		if p, err := read(); err != nil || p[0] != 1 {
			t.Errorf("third read: %v, %v", p, err)
		}
		hung := make(chan error)
		go func() {
			_, err := read()
			hung <- err
		}()
		synctest.Wait()
		if _, err := read(); !errors.Is(err, syscall.EIO) || f.Fired() != 5 {
			t.Errorf("fifth read: %v, %d fired", err, f.Fired())
		}
		f.Heal()
		if err := <-hung; err != nil {
			t.Errorf("a read that hung: %v", err)
		}
		if _, err := read(); err != nil || f.Fired() != 5 {
			t.Errorf("healed: %v, %d fired", err, f.Fired())
		}
	})
}

func TestFlip(t *testing.T) {
	for _, tt := range []struct {
		fault Fault
		at    int
		bit   byte
	}{
		{Fault{Kind: Flip}, 0, 1},
		{Fault{Kind: Flip, Read: 0, Off: 5, Bit: 7}, 0, 128},
		{Fault{Kind: Flip, Bit: 64}, 8, 1},
		{Fault{Kind: Flip, Bit: 1 << 62}, 0, 1},
		{Fault{Kind: Flip, Read: -1, Off: 15, Bit: 8}, 0, 1},
		{Fault{Kind: Flip, Read: -1, Off: 3, Bit: 9}, 4, 2},
	} {
		p, want := make([]byte, 16), make([]byte, 16)
		want[tt.at] = tt.bit
		if err := NewFaulty(NewMem("m", make([]byte, 16), 1), tt.fault).ReadAt(context.Background(), p, 0); err != nil || !bytes.Equal(p, want) {
			t.Errorf("%+v: %v, %v, want %v", tt.fault, p, err, want)
		}
	}
}
