package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/models/checkpoint"
	"estream/tools/cli"
)

const (
	tiny    = "testdata/phimoe"
	goldens = tiny + "/goldens.safetensors"
)

// estream runs this module's command and returns its exit code and what it printed.
func estream(args ...string) (code int, printed string) { return run(app(), args...) }

func run(a *cli.App, args ...string) (code int, printed string) {
	var out bytes.Buffer
	a.Stdout, a.Stderr = &out, &out
	code = cli.Main(a, args)
	return code, out.String()
}

func ok(t testing.TB, args ...string) string {
	t.Helper()
	code, printed := estream(args...)
	require.Zero(t, code, "estream %v: %s", args, printed)
	return printed
}

// writeNPZ writes what a folder of safetensors holds into a folder with model.npz,
// as numpy.savez does.
func writeNPZ(t testing.TB, from, to string) {
	t.Helper()
	c, err := checkpoint.Open(from, checkpoint.Options{}, checkpoint.SafeTensors)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, os.MkdirAll(to, 0o777))
	config, err := c.Config()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "config.json"), config, 0o666))
	f, err := os.Create(filepath.Join(to, "model.npz"))
	require.NoError(t, err)
	defer f.Close()
	z := zip.NewWriter(f)
	for _, x := range c.Tensors() {
		dims, n := "", 1
		for _, d := range x.Shape {
			dims, n = dims+fmt.Sprint(d, ", "), n*d
		}
		values := make([]float32, n)
		require.NoError(t, c.Read(t.Context(), x.Name, 0, x.Shape[0], values))
		dictionary := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }\n", dims)
		data := append([]byte("\x93NUMPY\x01\x00"), byte(len(dictionary)), byte(len(dictionary)>>8))
		data = append(data, dictionary...)
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: x.Name + ".npy", Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
}

// The same weights in another format are the same package.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	writeNPZ(t, tiny, dir+"/npz")
	ok(t, "pack", tiny, dir+"/a")
	ok(t, "pack", dir+"/npz", dir+"/b")
	for _, name := range []string{"experts.bin", "dense.bin"} {
		a, err := os.ReadFile(filepath.Join(dir, "a", name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(dir, "b", name))
		require.NoError(t, err)
		require.True(t, bytes.Equal(a, b), name)
	}
}

// A program without the plug-in says what it lacks.
func TestWithoutPlugin(t *testing.T) {
	dir := t.TempDir() + "/p"
	code, printed := run(cli.Default(), "pack", tiny, dir)
	require.Equal(t, 1, code)
	require.Contains(t, printed, `unknown architecture "PhimoeForCausalLM"`)
	ok(t, "pack", tiny, dir)
	code, printed = run(cli.Default(), "run", "--tokens", "1", dir)
	require.Equal(t, 1, code)
	require.Equal(t, "estream: package "+dir+": needs the operator \"sparsemixer\", which this program lacks: use one built with the plug-in that declares it\n", printed)
}

// Backends and sources are named on the command line and change no number.
func TestChoices(t *testing.T) {
	dir := t.TempDir()
	ok(t, "pack", "--backend", "count", tiny, dir+"/p")
	var files [2][]byte
	for i, flags := range [][]string{nil, {"--backend", "count", "--source", "throttle=1000"}} {
		out := fmt.Sprintf("%s/%d.safetensors", dir, i)
		printed := ok(t, append([]string{"run", "--tokens", "1,2,3", "--logits", "all", "-o", out}, append(flags, dir+"/p")...)...)
		require.Equal(t, i == 1, strings.Contains(printed, "called c0.body      3 times\n"), printed)
		var err error
		files[i], err = os.ReadFile(out)
		require.NoError(t, err)
	}
	require.True(t, bytes.Equal(files[0], files[1]))
	require.Contains(t, ok(t, "bench", "-p", "4", "-r", "1", "--backend", "count", "--source", "throttle=1000", dir+"/p"), "called c0.body")

	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", "--tokens", "1", "--backend", "abacus", dir + "/p"}, 2, `unknown backend "abacus": use one of host, count`},
		{[]string{"check", "--golden", goldens, "--backend", "abacus", dir + "/p"}, 2, `unknown backend "abacus": use one of host, count`},
		{[]string{"bench", "--backend", "abacus", dir + "/p"}, 2, `unknown backend "abacus": use one of host, count`},
		{[]string{"run", "--tokens", "1", "--source", "tape", dir + "/p"}, 2, `unknown source "tape": use one of file, throttle`},
		{[]string{"run", "--tokens", "1", "--source", "throttle", dir + "/p"}, 1, "package " + dir + "/p: throttle=: want MiB a second, as in throttle=40"},
	} {
		code, printed := estream(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, printed)
		require.Equal(t, "estream: "+c.want+"\n", printed, "%v", c.args)
	}
}
