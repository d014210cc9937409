package npz_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/plugin/npz"

	"estream/models/checkpoint"
)

// npy returns an array of version 1 with that dictionary, right or wrong.
func npy(dictionary string, data ...byte) string {
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(dictionary)))) + dictionary + string(data)
}

// An entry is a file of a zip.
type entry struct {
	name, data string
	method     uint16
}

func stored(name, data string) entry { return entry{name, data, zip.Store} }

func archive(entries ...entry) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		if err == nil {
			_, err = w.Write([]byte(e.data))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.npz")
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func open(path string) (checkpoint.Checkpoint, error) {
	return checkpoint.Open(path, checkpoint.Options{}, npz.Format)
}

// What NumPy wrote; testdata/make.py says how.
func TestSample(t *testing.T) {
	c, err := open("testdata/sample.npz")
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, []checkpoint.Tensor{
		{Name: "a.weight", DType: "F32", Shape: []int{3, 4}, Bytes: 48},
		{Name: "b.half", DType: "F16", Shape: []int{3, 4}, Bytes: 24},
		{Name: "c.double", DType: "F64", Shape: []int{3, 4}, Bytes: 96},
		{Name: "d.vector", DType: "F32", Shape: []int{2}, Bytes: 8},
		{Name: "e.scalar", DType: "F32", Bytes: 4},
	}, c.Tensors())
	require.Equal(t, []checkpoint.File{{Path: "testdata/sample.npz", Size: 1438}}, c.Files())
	for _, r := range []struct {
		name      string
		row, rows int
		want      []float32
	}{
		{"a.weight", 0, 3, []float32{-0.5, -0.375, -0.25, -0.125, 0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875}},
		{"b.half", 1, 2, []float32{0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875}},
		{"c.double", 2, 1, []float32{0.5, 0.625, 0.75, 0.875}},
		{"d.vector", 1, 1, []float32{-2.25}},
		{"e.scalar", 0, 1, []float32{7}},
		{"a.weight", 3, 0, []float32{}},
	} {
		got := make([]float32, len(r.want))
		require.NoError(t, c.Read(t.Context(), r.name, r.row, r.rows, got), r.name)
		require.Equal(t, r.want, got, "%s, rows %d+%d", r.name, r.row, r.rows)
	}
	require.EqualError(t, c.Read(t.Context(), "z", 0, 1, nil), `testdata/sample.npz: no array "z"`)
	require.EqualError(t, c.Read(t.Context(), "a.weight", 2, 2, make([]float32, 8)), `testdata/sample.npz: array "a.weight": rows [2,2+2) of 3`)
	_, err = c.Config()
	require.EqualError(t, err, "testdata/sample.npz: no config.json lies beside it: copy the model's there")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, c.Read(ctx, "d.vector", 0, 2, make([]float32, 2)), context.Canceled)
}

// Values that do not fit one buffer come in several reads.
func TestLarge(t *testing.T) {
	const n = 200_001
	var data []byte
	for i := range n {
		data = binary.LittleEndian.AppendUint16(data, uint16(i%0x7c00)) // halves from 0 up
	}
	c, err := open(write(t, archive(stored("x.npy", npy(fmt.Sprintf("{'descr': '<f2', 'fortran_order': False, 'shape': (%d,), }", n), data...)))))
	require.NoError(t, err)
	defer c.Close()
	got := make([]float32, n-1)
	require.NoError(t, c.Read(t.Context(), "x", 1, n-1, got))
	for i := range got {
		if at := (i + 1) % 0x7c00; at > 0 && i > 0 && got[i] <= got[i-1] {
			t.Fatalf("element %d is %v after %v", i, got[i], got[i-1])
		}
	}
}

func TestMatch(t *testing.T) {
	dir := t.TempDir()
	require.False(t, npz.Format.Match(dir))
	require.False(t, npz.Format.Match(filepath.Join(dir, "none.npz")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "model.npz"), 0o700))
	require.False(t, npz.Format.Match(dir), "a folder of that name")
	require.NoError(t, os.Remove(filepath.Join(dir, "model.npz")))
	sample, err := os.ReadFile("testdata/sample.npz")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.npz"), sample, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o600))
	for _, path := range []string{dir, filepath.Join(dir, "model.npz")} {
		c, err := open(path)
		require.NoError(t, err)
		config, err := c.Config()
		require.NoError(t, err)
		require.Equal(t, "{}", string(config))
		require.NoError(t, c.Close())
	}
}

const dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"

// A refusal is a file and why it is refused.
type refusal struct {
	data []byte
	want string
}

func refusals() []refusal {
	one := func(text string) []byte { return archive(stored("x.npy", text)) }
	cut := npy(dictionary)
	return []refusal{
		{[]byte("no zip"), "zip: not a valid zip file"},
		{archive(stored("x.txt", "")), `tensor "x.txt": entry: want the name of a .npy array`},
		{archive(stored("x.npy", npy(dictionary, 0, 0, 0, 0)), stored("x.npy", "")), `tensor "x": entry: is there twice`},
		{archive(entry{"x.npy", npy(dictionary, 0, 0, 0, 0), zip.Deflate}),
			`tensor "x": compression: want an array that is stored as it is: write the file with numpy.savez, not savez_compressed`},
		{one(""), `tensor "x": npy header: 0 bytes are none`},
		{one("\x93NUMPX" + cut[6:]), `tensor "x": npy header: begins with "\x93NUMPX", want "\x93NUMPY"`},
		{one("\x93NUMPY\x04" + cut[7:]), `tensor "x": npy header: version 4, want 1, 2 or 3`},
		{one(cut[:40]), `tensor "x": npy header: 57 bytes long, of 40`},
		{one("\x93NUMPY\x02\x00\xff\xff\xff\xff" + dictionary), `tensor "x": npy header: 4294967295 bytes long, of 69`},
		{one(cut), `tensor "x": npy header: shape [1] of F32, and 0 bytes of values`},
		{one(npy("{'descr': '<f4', 'shape': (1,)}")), `tensor "x": npy header: "{'descr': '<f4', 'shape': (1,)}" is no dictionary of descr, fortran_order and shape`},
		{one(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}")),
			`tensor "x": npy header: "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}" is no dictionary of descr, fortran_order and shape`},
		{one(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}")), `tensor "x": npy header: descr is '<i8', want '<f2', '<f4' or '<f8'`},
		{one(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0)}")), `tensor "x": npy header: shape is (2, 0), want extents from 1`},
		{one(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}")),
			`tensor "x": npy header: fortran_order is True: save numpy.ascontiguousarray of the array`},
		{one(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}")),
			`tensor "x": npy header: shape [4294967296 4294967296] of F64, and 0 bytes of values`},
		{one(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}")),
			`tensor "x": npy header: shape is (99999999999999999999,), want extents from 1`},
	}
}

func TestRefusals(t *testing.T) {
	for _, r := range refusals() {
		path := write(t, r.data)
		_, err := open(path)
		require.EqualError(t, err, path+": "+r.want)
	}
}

// FuzzOpen: no file causes a panic, and what a file lists can be read.
func FuzzOpen(f *testing.F) {
	for _, r := range refusals() {
		f.Add(r.data)
	}
	sample, err := os.ReadFile("testdata/sample.npz")
	require.NoError(f, err)
	f.Add(sample)
	f.Add(sample[:len(sample)-30])
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := open(write(t, data))
		if err != nil {
			return
		}
		defer c.Close()
		for _, x := range c.Tensors() {
			rows, n := 1, 1
			for _, d := range x.Shape {
				rows, n = x.Shape[0], n*d
			}
			if n > len(data) {
				t.Fatalf("%v elements in a file of %d bytes", x.Shape, len(data))
			}
			if err := c.Read(t.Context(), x.Name, 0, rows, make([]float32, n)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
