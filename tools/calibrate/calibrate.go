// Package calibrate learns from text how a package routes, and chooses by that
// which static graphs its experts have: the tiers of rows, how many experts a
// launch takes, and when the host runs an expert instead.
//
// A Counter taps a model's routes and counts rows in batches of a fixed number of
// tokens. Counter.Plan makes a Calibration of it, which is kept beside the package
// and read by whoever runs it: its tiers and policy go to a static device, and a
// Watch compares live routing with it.
//
// What holds:
//
//	C1 a run that does not end counts nothing
//	C2 an expert that no token reached has a count of 0, and is listed
//	C3 a Calibration that Load or Read returns is of the package that was asked about
package calibrate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"estream/pager/layout"
	"estream/passes"
)

// Name is the file in which a package carries its calibration.
const Name = "calibration.json"

// A Calibration is what a text said of a package's routing, and what was chosen.
type Calibration struct {
	Version     int     `json:"version"`
	Package     string  `json:"package"`      // SHA-256 of its model.fb, artifacts apart
	Tokens      int     `json:"tokens"`       // that were counted
	Batch       int     `json:"batch_tokens"` // tokens of a batch
	Batches     int     `json:"batches"`      // whole ones
	Interrupted bool    `json:"interrupted"`  // the text was not read to its end
	Layers      []Layer `json:"layers"`       // those with experts

	Cost     passes.Cost `json:"cost"`
	CostFrom string      `json:"cost_from"` // who says so
	Choice   Choice      `json:"choice"`
	Designs  []Design    `json:"designs"` // Choice last, and what it is compared with
}

// A Layer is the routing of one layer.
type Layer struct {
	Layer      int       `json:"layer"`
	Chosen     int       `json:"experts_per_token"`
	Counts     []int     `json:"counts"`          // tokens that each expert got
	Popularity []float64 `json:"popularity"`      // shares of counts, each taken to be one larger: nobody is never wanted
	Rows       [][2]int  `json:"rows"`            // rows, and how many times an expert had so many in a batch
	Unreached  []int     `json:"unreached"`       // experts without a token
	Spread     []float64 `json:"drift"`           // median and most drift of one batch from the others
	Threshold  float64   `json:"drift_threshold"` // above it a batch of live tokens is alarming
}

// A Choice is what a static device is given.
type Choice struct {
	Rows   []int `json:"row_tiers"`
	Groups []int `json:"group_tiers"`
	Host   bool  `json:"host"` // experts that do not repay a launch run there
	Drop   bool  `json:"drop"` // rows beyond the largest tier are left out
}

// AllOnHost reports whether by the choice the host ran all experts of the text.
func (c *Calibration) AllOnHost() bool {
	if len(c.Designs) == 0 {
		return false
	}
	w := c.Designs[len(c.Designs)-1].Total
	return w.HostRows > 0 && w.HostRows == w.Rows
}

// Tiers returns what t becomes by the choice.
func (c Choice) Tiers(t passes.Tiers) passes.Tiers {
	t.R, t.G = c.Rows, c.Groups
	return t
}

// A Design is a choice and what the text's batches take with it.
type Design struct {
	Name string `json:"name"`
	Choice
	Total   passes.Work   `json:"work"`    // of all batches that were kept
	Padding float64       `json:"padding"` // share of the rows that the device computes
	Seconds float64       `json:"batch_s"` // modelled, of the experts of all layers of a batch
	Layers  []passes.Work `json:"layers"`  // in the order of Calibration.Layers
}

const version = 1

// ErrOther is wrapped by Read's error for a calibration of another package.
var ErrOther = errors.New("calibrate the package again")

// Load returns the calibration that a package carries, nil where it has none.
func Load(dir string) (*Calibration, error) {
	return Read(filepath.Join(dir, Name), dir)
}

// Read is Load of the file at path, for the package in dir.
func Read(path, dir string) (*Calibration, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(Calibration)
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("%s is damaged, calibrate the package again: %w", path, err)
	}
	if c.Version != version {
		return nil, fmt.Errorf("%s: version %d, want %d: %w", path, c.Version, version, ErrOther)
	}
	id, err := Identity(dir)
	if err != nil {
		return nil, err
	}
	if c.Package != id {
		return nil, fmt.Errorf("%s: it is of another package: %w", path, ErrOther)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%s is damaged, calibrate the package again: %w", path, err)
	}
	return c, nil
}

// Bounds of what a file may ask for.
const (
	maxRows  = 1 << 20
	maxBatch = 1 << 16
	maxGroup = 64
	maxTiers = 64
)

func (c *Calibration) check() error {
	for _, l := range []struct {
		what        string
		sizes       []int
		least, most int
	}{{"row_tiers", c.Choice.Rows, 1, maxRows}, {"group_tiers", c.Choice.Groups, 1, maxGroup}} {
		if len(l.sizes) == 0 || len(l.sizes) > maxTiers {
			return fmt.Errorf("%s has %d sizes, want 1 to %d", l.what, len(l.sizes), maxTiers)
		}
		last := l.least - 1
		for _, n := range l.sizes {
			if n <= last || n > l.most {
				return fmt.Errorf("%s are %v, want them to rise from %d to %d", l.what, l.sizes, l.least, l.most)
			}
			last = n
		}
	}
	if c.Choice.Groups[0] != 1 {
		return fmt.Errorf("group_tiers are %v, want 1 first", c.Choice.Groups)
	}
	if c.Batch < 1 || c.Batch > maxBatch {
		return fmt.Errorf("batch_tokens is %d, want 1 to %d", c.Batch, maxBatch)
	}
	if c.Batches < 1 || c.Tokens/c.Batch < c.Batches {
		return fmt.Errorf("batches is %d, of %d tokens each, and tokens is %d: want 1 batch or more, and no fewer tokens", c.Batches, c.Batch, c.Tokens)
	}
	last := -1
	for i, l := range c.Layers {
		if l.Layer <= last || l.Chosen < 1 || l.Chosen > len(l.Counts) || len(l.Popularity) != len(l.Counts) {
			return fmt.Errorf("layers[%d]: layer %d, %d experts a token, %d counts and %d shares do not go together", i, l.Layer, l.Chosen, len(l.Counts), len(l.Popularity))
		}
		if err := l.check(); err != nil {
			return fmt.Errorf("layers[%d]: %w", i, err)
		}
		last = l.Layer
	}
	return nil
}

// check reports what no text can have said.
func (l Layer) check() error {
	const rounding = 1e-6
	var unreached []int
	sum := 0.0
	for e, n := range l.Counts {
		if n < 0 {
			return fmt.Errorf("counts[%d] is %d, want 0 or more", e, n)
		}
		if n == 0 {
			unreached = append(unreached, e) // C2
		}
		share := l.Popularity[e]
		if share < 0 || share > 1 {
			return fmt.Errorf("popularity[%d] is %v, want 0 to 1", e, share)
		}
		sum += share
	}
	for i, r := range l.Rows {
		if r[0] < 0 || r[1] < 0 {
			return fmt.Errorf("rows[%d] is %v, want 0 or more", i, r)
		}
	}
	switch {
	case math.Abs(sum-1) > rounding:
		return fmt.Errorf("popularity is %v in all, want 1", sum)
	case !slices.Equal(l.Unreached, unreached):
		return fmt.Errorf("unreached is %v, and counts of %v are 0", l.Unreached, unreached)
	case l.Threshold < 0 || l.Threshold > 1:
		return fmt.Errorf("drift_threshold is %v, want 0 to 1", l.Threshold)
	}
	return nil
}

// Identity returns what a calibration names the package in a folder by: its manifest
// without what was compiled ahead of time, which says nothing of routing.
func Identity(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, layout.ManifestName))
	if err != nil {
		return "", err
	}
	m, err := layout.Decode(data)
	if err != nil {
		return "", fmt.Errorf("package %s: %w", dir, err)
	}
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f layout.FileSum) bool {
		return slices.ContainsFunc(m.Artifacts, func(a layout.Artifact) bool { return a.File == f.Name })
	})
	m.Artifacts = nil
	manifest, err := layout.Encode(m)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(manifest)), nil
}
