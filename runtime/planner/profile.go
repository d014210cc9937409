// Package planner predicts how long runs of a package take on a machine, and picks how they run: reads in flight, groups
// of experts in memory, experts a group, and with a budget what stays in memory (Q, B, G, pins).
//
// A Profile is what a machine does with a package: how fast it reads, and what each class of layers costs to compute. It
// is measured in a few seconds, from short runs that stop after the first layer of each class, and kept for later. A
// Planner puts it together with a plan of the runtime and simulates the pass. What it cannot know is which experts a
// prompt will need: it takes routes as random and even.
package planner

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"time"

	"estream/pager/layout"
	"estream/pager/simulate"
)

// A Profile is how fast a machine reads and computes a package.
type Profile struct {
	Key     string // what it is of: see Key
	Taken   time.Time
	Disk    simulate.Disk
	Drag    float64 // by how much computing takes longer while something is read
	Embed   Line    // of a chunk
	Classes map[string]Class
}

// A Class is what the computation of a layer costs.
type Class struct {
	Body  Line `json:"body"`  // of a chunk, with the route; more is a pair of positions that attention relates
	Group Line `json:"group"` // of a group of experts; more is an expert of it
	Side  Line `json:"side"`  // of a chunk: what runs beside routed experts
	Tail  Line `json:"tail"`  // of a chunk
	Rest  Line `json:"rest"`  // of the layer's tokens, outside of programs; more is a group that is handed over
}

// A Line is the seconds of something that is computed at once: Call, and so much for each row and for each of what there
// is more.
type Line struct {
	Call float64 `json:"call"`
	Row  float64 `json:"row"`
	More float64 `json:"more"`
}

func (l Line) of(calls, rows int, more float64) time.Duration {
	return time.Duration(1e9 * (l.Call*float64(calls) + l.Row*float64(rows) + l.More*more))
}

// Key names a package in a folder on this machine, and how it is run: with so many threads, and what else the caller says.
func Key(dir string, threads int, how string) (string, error) {
	manifest, err := readFile(filepath.Join(dir, layout.ManifestName), layout.MaxManifest)
	if err != nil {
		return "", err
	}
	place, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	machine, err := os.Hostname()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("3 %s %s %s %d threads %s %s %x", machine, goruntime.GOARCH, os.Getenv("ESTREAM_CPU"), threads, how, place, sha256.Sum256(manifest)), nil
}

// file is where the profile of a key is kept: in the user's folder of caches.
func file(key string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "estream", fmt.Sprintf("profile-%x.json", sha256.Sum256([]byte(key)))), nil
}

// maxProfile is how many bytes a profile that was kept may have; they have some thousands.
const maxProfile = 1 << 20

// readFile reads a file of at most most bytes.
func readFile(path string, most int64) ([]byte, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", path) // and reading it may never end
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it is only read
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: longer than %d bytes, the most that is read", path, most)
	}
	return text, err
}

// Load returns the profile of a key that was kept, nil where there is none, or what is there is none.
func Load(key string) *Profile {
	path, err := file(key)
	if err != nil {
		return nil
	}
	text, err := readFile(path, maxProfile)
	p := new(Profile)
	if err != nil || json.Unmarshal(text, p) != nil || p.Key != key || !p.possible() {
		return nil
	}
	return p
}

// possible reports whether a machine could have such a profile: nothing takes less than no time, or days.
func (p *Profile) possible() bool {
	const mostSeconds, mostRate = 1e5, 1e15
	d := p.Disk
	ok := d.Rate >= 1 && d.Rate <= mostRate
	for _, rate := range []float64{d.Check, d.Peak} { // of which 0 is none
		ok = ok && (rate == 0 || rate >= 1 && rate <= mostRate)
	}
	seconds := []float64{d.Latency.Seconds(), d.Burst.Seconds(), p.Drag}
	lines := []Line{p.Embed}
	for _, c := range p.Classes {
		lines = append(lines, c.Body, c.Group, c.Side, c.Tail, c.Rest)
	}
	for _, l := range lines {
		seconds = append(seconds, l.Call, l.Row, l.More)
	}
	return ok && !slices.ContainsFunc(seconds, func(s float64) bool { return !(s >= 0 && s <= mostSeconds) })
}

// Save keeps the profile and returns in which file.
func (p *Profile) Save() (path string, err error) {
	if path, err = file(p.Key); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.partial")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return path, err
}
