package find

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
)

// A Build is a version of QAIRT, Qualcomm's SDK. The zero Build is an unknown one.
type Build struct {
	Major, Minor, Patch int
	Stamp               int64 // when it was built, 0 if that is not known
}

var buildText = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4})(?:\.(\d{6,14})(?:[_-][0-9A-Za-z]+)*)?)?$`)

// ParseBuild reads a version such as v2.47.0.260601114230, 2.47.0 or 2.47.
func ParseBuild(s string) (Build, error) {
	m := buildText.FindStringSubmatch(s)
	if m == nil {
		return Build{}, fmt.Errorf("%q is no version of QAIRT, such as v2.47.0.260601114230", s)
	}
	var b Build
	b.Major, _ = strconv.Atoi(m[1]) // digits that are few
	b.Minor, _ = strconv.Atoi(m[2])
	b.Patch, _ = strconv.Atoi(m[3])
	b.Stamp, _ = strconv.ParseInt(m[4], 10, 64)
	return b, nil
}

// Known reports whether b is not the zero Build.
func (b Build) Known() bool { return b != Build{} }

// Compare is negative if b is older than c, and 0 if nothing that both say differs.
func (b Build) Compare(c Build) int {
	order := cmp.Or(cmp.Compare(b.Major, c.Major), cmp.Compare(b.Minor, c.Minor), cmp.Compare(b.Patch, c.Patch))
	if order == 0 && b.Stamp != 0 && c.Stamp != 0 {
		order = cmp.Compare(b.Stamp, c.Stamp)
	}
	return order
}

func (b Build) String() string {
	switch {
	case !b.Known():
		return "unknown"
	case b.Stamp == 0:
		return fmt.Sprintf("%d.%d.%d", b.Major, b.Minor, b.Patch)
	}
	return fmt.Sprintf("%d.%d.%d.%d", b.Major, b.Minor, b.Patch, b.Stamp)
}

// MarshalText implements encoding.TextMarshaler.
func (b Build) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

var buildIn = regexp.MustCompile(`v\d{1,2}\.\d{1,3}\.\d{1,3}\.\d{12}`)

// buildOf finds the version that a library has been built with among its strings,
// the zero Build if none is there, as in libQnnSystem.so.
func buildOf(path string) (Build, error) {
	f, err := os.Open(path)
	if err != nil {
		return Build{}, err
	}
	defer f.Close()
	const overlap = 64 // more than a version has
	buf := make([]byte, 1<<20)
	for kept := 0; ; {
		n, err := io.ReadFull(f, buf[kept:])
		if m := buildIn.Find(buf[:kept+n]); m != nil {
			return ParseBuild(string(m))
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return Build{}, nil
		case err != nil:
			return Build{}, err
		}
		kept = copy(buf, buf[len(buf)-overlap:])
	}
}
