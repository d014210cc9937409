//go:build linux

package qnn_test

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"estream/ir/quant"
	"estream/lower"
	"estream/lower/qnn"
	"estream/lower/qnn/native"
	"estream/lower/static"
	"estream/runtime"
)

// files make regions of the kernel's files, in place of a device's.
type files struct{ made, live int }

func (f *files) share(bytes int64) (*native.Region, error) {
	fd, err := unix.MemfdCreate("region", 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Ftruncate(fd, bytes); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(fd, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	f.made++
	f.live++
	return &native.Region{Bytes: b, FD: fd, Free: func() error {
		f.live--
		return errors.Join(unix.Munmap(b), unix.Close(fd))
	}}, nil
}

// TestRegions runs a model whose weights, activations and results stand in regions,
// experts being paged into banks: the library reads them by other maps of the same
// files, and computes bit for bit what it does with buffers.
func TestRegions(t *testing.T) {
	b := runtime.Batch{Prompts: goldenOf(t, "olmoe").ids("p7.input_ids"), Logits: runtime.All}
	for _, c := range []struct {
		library string
		device  func(qnn.Options) *qnn.Device
	}{{"libQnnCpu.so", qnn.CPU}, {"libQnnHtp.so", qnn.HTP}} {
		t.Run(c.library, func(t *testing.T) {
			dir, f := packed(t, "olmoe", "w4"), &files{}
			var logits [2][]float32
			for i, share := range []func(int64) (*native.Region, error){nil, f.share} {
				d := c.device(qnn.Options{Folder: libraries(t, c.library), SoC: "v79", Share: share})
				m, err := runtime.Open(t.Context(), dir, runtime.Options{Device: static.New(d, small), Banks: 2, Group: 1})
				require.NoError(t, err)
				for range 2 { // the second time in places that are known
					res, err := m.Run(t.Context(), b)
					require.NoError(t, err)
					logits[i] = append(logits[i], res.Logits...)
				}
				require.NoError(t, m.Close())
				require.NoError(t, d.Close())
			}
			require.Equal(t, logits[0], logits[1])
			require.Greater(t, f.made, 3)
			require.Zero(t, f.live, "regions that are not freed")
		})
	}
}

// TestRegionsAreFew counts places that are registered: more experts, more layers and
// more runs need none, and a bank nine, of three matrices the codes and two kinds of
// scales.
func TestRegionsAreFew(t *testing.T) {
	prompt := make([]int32, 30)
	for i := range prompt {
		prompt[i] = int32(3+37*i) % 101
	}
	places := func(layers, experts, banks int) int {
		dir := random(t, "olmoe", "w4", map[string]int{"num_hidden_layers": layers, "num_experts": experts})
		f := &files{}
		d := qnn.CPU(qnn.Options{Folder: libraries(t, "libQnnCpu.so"), Share: f.share})
		m, err := runtime.Open(t.Context(), dir, runtime.Options{Device: static.New(d, small), Banks: banks, Group: 1})
		require.NoError(t, err)
		n := 0
		for run := range 2 {
			_, err := m.Run(t.Context(), runtime.Batch{Prompts: [][]int32{prompt}, Logits: runtime.Last})
			require.NoError(t, err)
			require.True(t, run == 0 || d.Places() == n, "run %d: %d places, want %d as before", run, d.Places(), n)
			n = d.Places()
		}
		require.NoError(t, m.Close())
		require.Zero(t, d.Places(), "of a model that is closed")
		require.NoError(t, d.Close())
		return n
	}
	few := places(2, 8, 2)
	require.Equal(t, 66, few)
	require.Equal(t, few, places(4, 32, 2), "with twice the layers and four times the experts")
	require.Equal(t, few+9, places(2, 8, 3), "with one more bank")
}

// TestRegionGoes runs a graph in a region that starts at a multiple of more than a
// page, and shows that nothing is left of it when it is freed, the graph being open.
func TestRegionGoes(t *testing.T) {
	f := &files{}
	d := qnn.CPU(qnn.Options{Folder: libraries(t, "libQnnCpu.so"), Share: f.share})
	defer func() { require.NoError(t, d.Close()) }()
	g := parse(t, productText)
	e, err := d.Compile(t.Context(), g, qnn.Packing())
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	var all []lower.Mem
	for range 8 { // that begin otherwise, one to one
		m, err := d.Alloc(4096, 64<<10)
		require.NoError(t, err)
		require.Zero(t, reflect.ValueOf(m.Bytes()).Pointer()%(64<<10))
		x := lower.Buffer{Mem: m, Len: 256, Type: g.Values[0].Type}
		w := lower.Buffer{Mem: m, Off: 1024, Len: 256, Type: g.Values[1].Type, Factor: 1}
		y := lower.Buffer{Mem: m, Off: 2048, Len: 64, Type: g.Values[2].Type}
		for i := range 32 {
			lower.F32(x.Bytes())[i] = 1
		}
		w.Bytes()[0] = 16*2 + 1                                                                        // codes 2 and 1 of row 0
		lower.U16(w.Bytes()[128:])[0], lower.U16(w.Bytes()[192:])[0] = quant.F16(1.0/16), quant.F16(1) // their scales
		require.NoError(t, e.Run(t.Context(), []lower.Buffer{x}, []lower.Buffer{w}, []lower.Buffer{y}))
		require.Equal(t, []float32{3, 0, 0}, lower.F32(y.Bytes())[:3])
		all = append(all, m)
	}
	for _, m := range all {
		require.NoError(t, m.Free())
	}
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	require.Equal(t, 1, f.live, "the graph's own")
	require.Equal(t, 2, strings.Count(string(maps), "memfd:region"), "its maps: this process's, and the library's of the weight's factor")
}

// TestNoRegion has no memory to share.
func TestNoRegion(t *testing.T) {
	d := qnn.HTP(qnn.Options{Share: func(int64) (*native.Region, error) { return nil, errors.New("no memory") }})
	_, err := d.Alloc(64, 64)
	require.EqualError(t, err, "qnn-htp: no memory")
}
