package planner

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/pager"
	"estream/pager/simulate"
	"estream/runtime"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.fb")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o666))
	text, err := readFile(path, 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(text))
	_, err = readFile(path, 4)
	require.EqualError(t, err, path+": longer than 4 bytes, the most that is read")
}

// A file that holds what no machine can be is as if it were not there.
func TestLoadImpossible(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	possible := func() *Profile {
		line := Line{Call: 1e-5, Row: 1e-6}
		return &Profile{Key: "k", Disk: simulate.Disk{Rate: 2e9, Latency: time.Millisecond}, Drag: 0.1, Embed: line, Classes: map[string]Class{"c": {Body: line}}}
	}
	_, err := possible().Save()
	require.NoError(t, err)
	require.Equal(t, possible(), Load("k"))
	for name, spoil := range map[string]func(*Profile){
		"drag":    func(p *Profile) { p.Drag = -1 },
		"rate":    func(p *Profile) { p.Disk.Rate = 0 },
		"check":   func(p *Profile) { p.Disk.Check = 1e-300 },
		"latency": func(p *Profile) { p.Disk.Latency = math.MaxInt64 },
		"embed":   func(p *Profile) { p.Embed.Row = -1e-9 },
		"class":   func(p *Profile) { p.Classes["c"] = Class{Rest: Line{More: 1e300}} },
	} {
		p := possible()
		spoil(p)
		_, err := p.Save()
		require.NoError(t, err)
		require.Nil(t, Load("k"), name)
	}
}

// Guesses are of one layer: banks for more than its experts take memory from what stays.
func TestIdle(t *testing.T) {
	p := Planner{Package: Package{Layers: []Layer{{Experts: 0}, {Experts: 64}}}, Schedule: pager.Guessed}
	for _, c := range []struct {
		banks, group int
		want         bool
	}{{65, 1, false}, {66, 1, true}, {9, 8, false}, {16, 8, true}, {3, 64, false}} {
		plan := runtime.Plan{Geometry: pager.Geometry{Banks: c.banks, Group: c.group}}
		require.Equal(t, c.want, p.idle(plan), "%+v", c)
		before := Planner{Package: p.Package, Schedule: pager.BeforeRouting}
		require.False(t, before.idle(plan), "%+v read before routing", c)
	}
}
