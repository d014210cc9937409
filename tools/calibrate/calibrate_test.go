package calibrate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
	"estream/runtime"
)

const module = `layers c0 c1 c1

graph c0.body
  %1:x = input : f32[T,4]
  %2:y = affine %1 mul=1 add=0 : f32[T,4]
  return %2

graph c1.route
  %1:scores = input : f32[T,4]
  %2:ids = topk %1 k=2 : i32[T,2]
  %3:weights = gather %1 %2 : f32[T,2]
  return %2 %3

graph c1.experts
  %1:h = input : f32[T,4]
  %2:ids = input : i32[T,2]
  %3:weights = input : f32[T,2]
  %4:y = experts %1 %2 %3 callee=expert0 : f32[T,4]
  return %4

graph expert0
  %1:x = input : f32[T,4]
  %2:rows = input : i32[R]
  %3:w = input : f32[R]
  %4:y = input : f32[T,4]
  %5 = gather_rows %1 %2 : f32[R,4]
  %6 = scale_rows %5 %3 : f32[R,4]
  %7 = scatter_add %4 %6 %2 inplace=0 : f32[T,4]
  return %7
`

func parsed(t *testing.T, text string) *ir.Module {
	t.Helper()
	ops, err := ir.Core()
	require.NoError(t, err)
	m, err := ir.Parse(text, ops)
	require.NoError(t, err)
	return m
}

// tapped gives a counter the ids of a run in layers 1 and 2.
func tapped(tap func(runtime.Tap), first, second []int32) {
	for i, ids := range [][]int32{first, second} {
		tap(runtime.Tap{Layer: i + 1, Name: "ids", Buffer: lower.Buffer{Mem: lower.Wrap(ids), Len: int64(4 * len(ids)), Type: ir.Tensor(ir.I32, ir.N(len(ids)/2), ir.N(2))}})
	}
}

func counter(t *testing.T, batch int) (*Counter, func(runtime.Tap)) {
	t.Helper()
	c, err := NewCounter(parsed(t, module), batch)
	require.NoError(t, err)
	var o runtime.Options
	c.Watch(&o)
	require.Equal(t, []string{"ids"}, o.Taps)
	return c, o.Tap
}

func TestCount(t *testing.T) {
	c, tap := counter(t, 2)
	tapped(tap, []int32{0, 1, 0, 2, 0, 1}, []int32{3, 1, 3, 1, 3, 1})
	c.End(true)
	tapped(tap, []int32{2, 3}, []int32{2, 3})
	c.End(false) // a run that failed
	tapped(tap, []int32{1, 0}, []int32{3, 1})
	c.End(true)
	require.Equal(t, []int{4, 2}, []int{c.Tokens(), c.Batches()})
	cal, err := c.Plan("id", Wish{Cost: passes.Cost{Launch: 2, Row: 1}, Tiers: 2, Groups: []int{1}})
	require.NoError(t, err)
	require.Equal(t, []Layer{
		{Layer: 1, Chosen: 2, Counts: []int{4, 3, 1, 0}, Popularity: []float64{5.0 / 12, 4.0 / 12, 2.0 / 12, 1.0 / 12}, Rows: [][2]int{{0, 3}, {1, 2}, {2, 3}}[:3], Unreached: []int{3}, Spread: []float64{}, Threshold: 1},
		{Layer: 2, Chosen: 2, Counts: []int{0, 4, 0, 4}, Popularity: []float64{1.0 / 12, 5.0 / 12, 1.0 / 12, 5.0 / 12}, Rows: [][2]int{{0, 4}, {2, 4}}, Unreached: []int{0, 2}, Spread: []float64{}, Threshold: 1},
	}, cal.Layers)
	require.Equal(t, []int{1, 2}, cal.Choice.Rows)
	require.Equal(t, passes.Work{Experts: 9, Rows: 16, Launches: 9, Bodies: 9, Computed: 16}, cal.Designs[2].Total)
	require.Equal(t, passes.Work{Experts: 9, Rows: 16, Launches: 9, Bodies: 9, Computed: 18}, cal.Designs[0].Total)
	require.InDelta(t, (2.0*9+18)/2, cal.Designs[0].Seconds, 1e-9)
}

func TestTooLittle(t *testing.T) {
	c, tap := counter(t, 4)
	tapped(tap, []int32{0, 1}, []int32{0, 1})
	c.End(true)
	_, err := c.Plan("id", Wish{Tiers: 1})
	require.EqualError(t, err, "1 tokens of text, want 4, one batch, or more: give more text, or smaller batches")
	_, err = NewCounter(parsed(t, "layers c0\n"+module[len("layers c0 c1 c1\n"):]), 4)
	require.EqualError(t, err, "no layer of the package has experts: there is nothing to calibrate")
}

// TestNeutralPrior: text that reaches one expert of a layer leaves tiers for others.
func TestNeutralPrior(t *testing.T) {
	c, tap := counter(t, 64)
	var ids []int32
	for range 64 {
		ids = append(ids, 0, 1)
	}
	tapped(tap, ids, ids)
	c.End(true)
	cal, err := c.Plan("id", Wish{Cost: passes.Cost{Launch: 1, Row: 1}, Tiers: 4, Groups: []int{1}})
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, cal.Layers[0].Unreached)
	require.Equal(t, []int{32, 64}, cal.Choice.Rows, "rows of a batch that is routed evenly, and those seen")
	require.Positive(t, cal.Layers[0].Popularity[2])
}

// TestDesigns: each means makes things no worse, in tiers, groups and on the host.
func TestDesigns(t *testing.T) {
	c, tap := counter(t, 32)
	r := rand.New(rand.NewPCG(5, 6))
	for range 40 {
		var ids [2][]int32
		for range 64 {
			e := int32(r.IntN(2)) * int32(r.IntN(4))
			ids[0] = append(ids[0], e, (e+1+int32(r.IntN(3)))%4)
			ids[1] = append(ids[1], 0, 1+int32(r.IntN(3)))
		}
		tapped(tap, ids[0], ids[1])
		c.End(true)
	}
	for _, call := range []int{0, 2} {
		w := Wish{Cost: passes.Cost{Launch: 12, Body: 1, Row: 1, HostExpert: 2, HostRow: 3}, Call: call, Tiers: 3, Groups: []int{1, 2, 4}, Host: true, Drop: true, Multiple: 2}
		cal, err := c.Plan("id", w)
		require.NoError(t, err)
		var names []string
		for i, d := range cal.Designs {
			names = append(names, d.Name)
			if i > 0 && !d.Drop {
				require.LessOrEqual(t, d.Seconds, cal.Designs[i-1].Seconds, "%s after %s", d.Name, cal.Designs[i-1].Name)
			}
			require.Equal(t, 80*32*2*2, d.Total.Rows+d.Total.Dropped, d.Name)
			require.LessOrEqual(t, len(d.Rows), 3)
			for _, n := range d.Rows {
				require.Zero(t, n%2, "%s: %v", d.Name, d.Rows)
			}
		}
		require.Equal(t, []string{"one tier for all", "best one tier", "3 tiers", "and groups", "and the host", "and drops"}, names)
		require.Zero(t, cal.Designs[0].Total.Overflow)
		require.Positive(t, cal.Designs[4].Total.HostRows)
		require.Equal(t, Choice{Rows: cal.Designs[5].Rows, Groups: []int{1, 2, 4}, Host: true, Drop: true}, cal.Choice)
	}
	cal, err := c.Plan("id", Wish{Cost: passes.Cost{Launch: 1, Row: 1}, Rows: []int{2, 5}, Groups: []int{1}, Drop: true})
	require.NoError(t, err)
	require.Equal(t, []int{2, 5}, cal.Choice.Rows, "as given")
	require.Positive(t, cal.Designs[2].Total.Overflow)
	require.Positive(t, cal.Designs[3].Total.Dropped)
	require.Zero(t, cal.Designs[3].Total.Overflow)
}

// TestKept bounds the batches that are kept, evenly over the text.
func TestKept(t *testing.T) {
	c, tap := counter(t, 1)
	for i := range 3*keptBatches + 5 {
		e := int32(i % 3)
		tapped(tap, []int32{e, 3}, []int32{e, 3})
		c.End(true)
	}
	l := c.layers[1]
	require.Less(t, len(l.kept), keptBatches)
	require.Equal(t, (l.batches+l.stride-1)/l.stride, len(l.kept))
	for i, batch := range l.kept {
		require.Equal(t, 1, batch[i*l.stride%3], "batch %d", i*l.stride)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	c, err := Load(dir)
	require.NoError(t, err)
	require.Nil(t, c)
	id := writeManifest(t, dir, "")
	require.Equal(t, id, writeManifest(t, dir, "compiled.bin"), "what was compiled ahead of time is no part of it")
	good := func() *Calibration {
		return &Calibration{Version: 1, Package: id, Tokens: 16, Batch: 8, Batches: 2, Choice: Choice{Rows: []int{2, 4}, Groups: []int{1, 2}}, Layers: []Layer{{Layer: 0, Chosen: 1, Counts: []int{1}, Popularity: []float64{1}}}}
	}
	path := filepath.Join(dir, Name)
	const damaged = " is damaged, calibrate the package again: "
	for _, c := range []struct {
		spoil func(*Calibration)
		want  string
	}{
		{func(c *Calibration) {}, ""},
		{func(c *Calibration) { c.Version = 2 }, ": version 2, want 1: calibrate the package again"},
		{func(c *Calibration) { c.Package = "x" }, ": it is of another package: calibrate the package again"},
		{func(c *Calibration) { c.Choice.Rows = nil }, damaged + "row_tiers has 0 sizes, want 1 to 64"},
		{func(c *Calibration) { c.Choice.Rows = []int{4, 4} }, damaged + "row_tiers are [4 4], want them to rise from 1 to 1048576"},
		{func(c *Calibration) { c.Choice.Rows = []int{1 << 30} }, damaged + "row_tiers are [1073741824], want them to rise from 1 to 1048576"},
		{func(c *Calibration) { c.Choice.Groups = []int{2} }, damaged + "group_tiers are [2], want 1 first"},
		{func(c *Calibration) { c.Choice.Groups = []int{0, 1} }, damaged + "group_tiers are [0 1], want them to rise from 1 to 64"},
		{func(c *Calibration) { c.Batch = 0 }, damaged + "batch_tokens is 0, want 1 to 65536"},
		{func(c *Calibration) { c.Batch = math.MaxInt }, damaged + "batch_tokens is 9223372036854775807, want 1 to 65536"},
		{func(c *Calibration) { c.Layers[0].Chosen = 2 }, damaged + "layers[0]: layer 0, 2 experts a token, 1 counts and 1 shares do not go together"},
		{func(c *Calibration) { c.Layers[0].Popularity = nil }, damaged + "layers[0]: layer 0, 1 experts a token, 1 counts and 0 shares do not go together"},
		{func(c *Calibration) { c.Tokens = -5 }, damaged + "batches is 2, of 8 tokens each, and tokens is -5: want 1 batch or more, and no fewer tokens"},
		{func(c *Calibration) { c.Tokens = 15 }, damaged + "batches is 2, of 8 tokens each, and tokens is 15: want 1 batch or more, and no fewer tokens"},
		{func(c *Calibration) { c.Batches = 0 }, damaged + "batches is 0, of 8 tokens each, and tokens is 16: want 1 batch or more, and no fewer tokens"},
		{func(c *Calibration) { c.Layers[0].Layer = -1 }, damaged + "layers[0]: layer -1, 1 experts a token, 1 counts and 1 shares do not go together"},
		{func(c *Calibration) { c.Layers = append(c.Layers, c.Layers[0]) }, damaged + "layers[1]: layer 0, 1 experts a token, 1 counts and 1 shares do not go together"},
		{func(c *Calibration) { c.Layers[0].Counts[0] = -1 }, damaged + "layers[0]: counts[0] is -1, want 0 or more"},
		{func(c *Calibration) { c.Layers[0].Popularity[0] = 1e300 }, damaged + "layers[0]: popularity[0] is 1e+300, want 0 to 1"},
		{func(c *Calibration) { c.Layers[0].Popularity[0] = -0.5 }, damaged + "layers[0]: popularity[0] is -0.5, want 0 to 1"},
		{func(c *Calibration) { c.Layers[0].Popularity[0] = 0.5 }, damaged + "layers[0]: popularity is 0.5 in all, want 1"},
		{func(c *Calibration) { c.Layers[0].Rows = [][2]int{{0, 1}, {1, -1}} }, damaged + "layers[0]: rows[1] is [1 -1], want 0 or more"},
		{func(c *Calibration) { c.Layers[0].Unreached = []int{0} }, damaged + "layers[0]: unreached is [0], and counts of [] are 0"},
		{func(c *Calibration) { c.Layers[0].Counts[0] = 0 }, damaged + "layers[0]: unreached is [], and counts of [0] are 0"},
		{func(c *Calibration) { c.Layers[0].Threshold = -1 }, damaged + "layers[0]: drift_threshold is -1, want 0 to 1"},
	} {
		x := good()
		c.spoil(x)
		data, err := json.Marshal(x)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		got, err := Load(dir)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, x, got)
			continue
		}
		require.EqualError(t, err, path+c.want)
	}
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = Load(dir)
	require.EqualError(t, err, path+" is damaged, calibrate the package again: unexpected end of JSON input")
}

// writeManifest writes that of a package without weights, with a compiled file of a
// name, or without one, and returns its identity.
func writeManifest(t *testing.T, dir, compiled string) string {
	t.Helper()
	m := &layout.Manifest{Version: layout.Version, Align: layout.DefaultAlign, Files: []layout.FileSum{{Name: layout.DenseName}, {Name: layout.ExpertsName}}}
	if compiled != "" {
		m.Files = append([]layout.FileSum{{Name: compiled, Size: 1}}, m.Files...)
		m.Artifacts = []layout.Artifact{{Backend: "x", File: compiled, Length: 1}}
	}
	data, err := layout.Encode(m)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, layout.ManifestName), data, 0o600))
	id, err := Identity(dir)
	require.NoError(t, err)
	return id
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"version":1,"tokens":8,"batch_tokens":8,"batches":1,"choice":{"row_tiers":[2],"group_tiers":[1]},"layers":[{"layer":1,"experts_per_token":2,"counts":[1,2,3,4],"popularity":[0.1,0.2,0.3,0.4]},{"layer":2,"experts_per_token":2,"counts":[1,2,3,4],"popularity":[0.1,0.2,0.3,0.4]}]}`))
	f.Add([]byte(`{"version":1,"batch_tokens":9223372036854775807,"choice":{"row_tiers":[2],"group_tiers":[1]}}`))
	f.Add([]byte(`{"layers":[null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := new(Calibration)
		if json.Unmarshal(data, c) != nil || c.check() != nil {
			return
		}
		w, err := NewWatch(c, parsed(t, module))
		if err != nil {
			return
		}
		var o runtime.Options
		w.Watch(&o)
		tapped(o.Tap, []int32{0, 3}, []int32{1, 2})
		w.Notes()
	})
}
