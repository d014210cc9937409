package pagertest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"estream/pager"
)

// A Script is faults of a model's files. As text it has a line each, "#" begins a comment:
//
//	FILE KIND [read N | byte OFFSET] [bit N] [for DURATION] [times N | always]
//
//	experts.bin eio read 3 times 2     # the fourth read fails, and the one after it
//	dense.bin flip byte 16384 always   # one bit is wrong whenever that byte is read
//	experts.bin slow for 20ms          # the first read is late
//
// Without a place it is the first read, without a number it is once.
type Script []Line

// A Line is a fault of the file of that name, in whatever folder.
type Line struct {
	File string
	Fault
}

// ParseScript reads a script. Errors name the line.
func ParseScript(text string) (Script, error) {
	var s Script
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		l, err := parseLine(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		s = append(s, l)
	}
	return s, nil
}

func parseLine(words []string) (Line, error) {
	l := Line{File: words[0], Fault: Fault{Times: 1}}
	if len(words) < 2 {
		return l, fmt.Errorf("%s: what goes wrong is missing", l.File)
	}
	kind := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.String() == words[1] })
	if kind < 0 {
		return l, fmt.Errorf("%s: unknown fault %q, there are %v", l.File, words[1], Kinds())
	}
	l.Kind = Kind(kind)
	for words = words[2:]; len(words) > 0; words = words[1:] {
		if words[0] == "always" {
			l.Times = -1
			continue
		}
		if len(words) == 1 {
			return l, fmt.Errorf("%q lacks its value", words[0])
		}
		if err := l.set(words[0], words[1]); err != nil {
			return l, err
		}
		words = words[1:]
	}
	return l, nil
}

func (l *Line) set(key, value string) (err error) {
	var n int64
	if key == "for" {
		l.Delay, err = time.ParseDuration(value)
	} else {
		n, err = strconv.ParseInt(value, 10, 64)
	}
	switch {
	case err != nil || n < 0 || l.Delay < 0:
		return fmt.Errorf("%s %q: not such a value", key, value)
	case key == "for":
	case key == "read":
		l.Read, l.Off = int(n), 0
	case key == "byte":
		l.Read, l.Off = -1, n
	case key == "bit":
		l.Bit = n
	case key == "times":
		l.Times = max(1, int(n))
	default:
		return fmt.Errorf("unknown word %q, there are read, byte, bit, for, times and always", key)
	}
	return nil
}

// String is the script as ParseScript reads it.
func (s Script) String() string {
	var out strings.Builder
	for _, l := range s {
		fmt.Fprintln(&out, l)
	}
	return out.String()
}

func (l Line) String() string {
	text := fmt.Sprintf("%s %v read %d", l.File, l.Kind, l.Read)
	if l.Read < 0 {
		text = fmt.Sprintf("%s %v byte %d", l.File, l.Kind, l.Off)
	}
	if l.Bit != 0 {
		text += fmt.Sprintf(" bit %d", l.Bit)
	}
	if l.Delay != 0 {
		text += fmt.Sprintf(" for %v", l.Delay)
	}
	switch {
	case l.Times < 0:
		text += " always"
	case l.Times > 1:
		text += fmt.Sprintf(" times %d", l.Times)
	}
	return text
}

// On has src go wrong as the script says of its file.
func (s Script) On(src pager.Source) *Faulty {
	var faults []Fault
	for _, l := range s {
		if l.File == filepath.Base(src.Name()) {
			faults = append(faults, l.Fault)
		}
	}
	return NewFaulty(src, faults...)
}

// Draw makes a script of 1 to 4 faults of any kind in the files, each at one of the first reads or anywhere in size bytes.
func Draw(rng *rand.Rand, files []string, reads int, size int64) Script {
	var s Script
	for range 1 + rng.IntN(4) {
		l := Line{File: files[rng.IntN(len(files))], Fault: Fault{Kind: Kind(rng.IntN(int(kinds))), Times: 1 + rng.IntN(5)}}
		if l.Read = rng.IntN(reads); rng.IntN(3) == 0 {
			l.Read, l.Off = -1, rng.Int64N(size)
		}
		switch l.Kind {
		case Flip:
			l.Bit = rng.Int64N(8 * size)
		case Slow:
			l.Delay = time.Duration(rng.Int64N(int64(time.Second)))
		}
		if rng.IntN(6) == 0 {
			l.Times = -1
		}
		s = append(s, l)
	}
	return s
}
