// Package planner predicts how long runs of a package take on a machine, and picks how they run: reads in flight, groups
// of experts in memory, experts a group, and with a budget what stays in memory (Q, B, G, pins).
//
// A Profile is what a machine does with a package: how fast it reads, and what each class of layers costs to compute. It
// is measured in a few seconds, from short runs that stop after the first layer of each class, and kept for later. A
// Planner puts it together with a plan of the runtime and simulates the pass. What it cannot know is which experts a
// prompt will need: it takes routes as random and even.
package planner

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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
	Embed   Line // of a chunk
	Classes map[string]Class
}

// A Class is what the computation of a layer costs, in seconds.
type Class struct {
	Body   Line // of a chunk, with the route
	Side   Line // of a chunk: what runs beside routed experts
	Tail   Line // of a chunk
	Rest   Line // of the layer, outside of programs
	Call   float64
	Expert []Point // beside Call of its group; rising
}

// A Line is the seconds that rows take which are computed together: Call, and so much for each row and for each pair of
// positions that attention relates.
type Line struct{ Call, Row, Pair float64 }

// A Point is the seconds that an expert takes with so many rows.
type Point struct {
	Rows    int
	Seconds float64
}

// over is the time of tokens of equal prompts in chunks.
func (l Line) over(tokens, prompts, chunk int) float64 {
	each := float64(tokens) / float64(prompts)
	return l.Call*float64((tokens+chunk-1)/chunk) + l.Row*float64(tokens) + l.Pair*float64(prompts)*each*(each+1)/2
}

// expert is the time of an expert with so many rows, by the points beside it.
func (c Class) expert(rows int) float64 {
	i, found := slices.BinarySearchFunc(c.Expert, rows, func(p Point, n int) int { return cmp.Compare(p.Rows, n) })
	switch {
	case len(c.Expert) == 0:
		return 0
	case found || i == 0:
		return c.Expert[i].Seconds
	case i == len(c.Expert):
		last := c.Expert[i-1]
		return last.Seconds * float64(rows) / float64(last.Rows)
	}
	a, b := c.Expert[i-1], c.Expert[i]
	return a.Seconds + (b.Seconds-a.Seconds)*float64(rows-a.Rows)/float64(b.Rows-a.Rows)
}

// Key names a package in a folder on this machine, and how it is run: with so many threads, and what else the caller says.
func Key(dir string, threads int, how string) (string, error) {
	manifest, err := os.ReadFile(filepath.Join(dir, layout.ManifestName))
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
	return fmt.Sprintf("1 %s %s %s %d threads %s %s %x", machine, goruntime.GOARCH, os.Getenv("ESTREAM_CPU"), threads, how, place, sha256.Sum256(manifest)), nil
}

// file is where the profile of a key is kept: in the user's folder of caches.
func file(key string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "estream", fmt.Sprintf("profile-%x.json", sha256.Sum256([]byte(key)))), nil
}

// Load returns the profile of a key that was kept, nil where there is none.
func Load(key string) *Profile {
	path, err := file(key)
	if err != nil {
		return nil
	}
	text, err := os.ReadFile(path)
	p := new(Profile)
	if err != nil || json.Unmarshal(text, p) != nil || p.Key != key {
		return nil
	}
	return p
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
