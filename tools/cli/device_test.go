//go:build linux

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/device/devicetest"
)

// This test is estream on a device too, one whose files are a folder: a package is
// pushed, run there and its logits pulled, and they are those of a run here.
func TestDevice(t *testing.T) {
	fake := devicetest.Fake{Arguments: mainArgs}
	adb, dir := fake.Make(t), packed(t, tiny, "f32")
	here, there := filepath.Join(t.TempDir(), "here"), filepath.Join(t.TempDir(), "there")
	want := ok(t, "run", "--tokens", "1,2,3", "--logits", "all", "-o", here, dir)
	args := []string{"device", "run", "--adb", adb, "--program", os.Args[0], "--to", "/data/local/tmp/my files", "-o", there, dir, "--", "--tokens", "1,2,3", "--logits", "all"}
	got := ok(t, args...)
	require.Contains(t, got.errors, "4 files, ")
	a, err := os.ReadFile(here)
	require.NoError(t, err)
	b, err := os.ReadFile(there)
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Dir(there))
	require.NoError(t, err)
	require.Len(t, left, 1, "beside the logits")
	require.True(t, bytes.Equal(a, b), "logits of the device are not those of this computer")
	require.Contains(t, want.out, "next ")
	require.Contains(t, got.out, "next ")

	v := object(t, ok(t, "device", "run", "--json", "--adb", adb, "--to", "/data/local/tmp/my files", dir, "--", "--tokens", "1,2,3"))
	requireKeys(t, v, "ttft_s", "peak_bytes")
	v = object(t, ok(t, "device", "push", "--json", "--adb", adb, "--to", "/data/local/tmp/my files", "--program", os.Args[0], dir))
	require.Equal(t, map[string]any{"files": 0.0, "bytes": 0.0, "kept": 4.0}, v["pushed"])
	v = object(t, ok(t, "device", "probe", "--json", "--adb", adb, "--to", "/data/local/tmp/my files", "--program", os.Args[0]))
	requireKeys(t, v, "device", "folder", "notes", "version", "doctor")
	require.Equal(t, true, v["doctor"].(map[string]any)["ok"])
	r := ok(t, "device", "probe", "--adb", adb)
	require.Contains(t, r.out, "device   FAKE1: ")
	require.Contains(t, r.out, "folder   /data/local/tmp/estream\n")

	r = run("device", "run", "--adb", adb, "--to", "/data/local/tmp/my files", dir, "--", "--tokens", "x")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, `--tokens: "x" is not a token id`)
	require.Contains(t, r.errors, "estream on device FAKE1 ended with exit code 2")
	r = run("device", "run", "--adb", adb, "-o", os.DevNull, dir, "--", "--tokens", "1")
	require.Equal(t, result{2, "", "estream: --output /dev/null: adb writes no pipe, device or stream: name a file\n"}, r)
	pulled := filepath.Join(t.TempDir(), "pulled")
	ok(t, "device", "pull", "--adb", adb, "--to", "/data/local/tmp/my files", "packages/"+filepath.Base(dir)+"/model.fb", pulled)
	require.FileExists(t, pulled)
}

func TestDeviceFails(t *testing.T) {
	one, two := devicetest.Fake{NoExec: "/data/local/bad"}, devicetest.Fake{Devices: "A device\nB device"}
	adb, dir := one.Make(t), packed(t, tiny, "f32")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"device"}, 2, "device needs a command: probe, push, run or pull"},
		{[]string{"device", "push", "--adb", adb}, 2, "nothing to push: give PACKAGE, --program or --libraries"},
		{[]string{"device", "probe", "--adb", "no-such-adb"}, 1, "no adb: install the package adb"},
		{[]string{"device", "probe", "--adb", two.Make(t)}, 1, "2 devices are attached: choose one of A, B with -s"},
		{[]string{"device", "probe", "--adb", adb, "-s", "C"}, 1, "no device C is attached: choose one of FAKE1"},
		{[]string{"device", "run", "--adb", adb, dir, "--", "--tokens", "1"}, 1, "/data/local/tmp/estream/estream does not start on device FAKE1: exit code 127: "},
		{[]string{"device", "run", "--adb", adb, "-o", filepath.Join(dir, "nowhere", "x"), dir, "--", "--tokens", "1"}, 1, "--output: no file can be written in the folder " + filepath.Join(dir, "nowhere") + ": mkdir -p "},
		{[]string{"device", "push", "--adb", adb, "--to", "/data/local/bad", damaged(t, dir, "model.fb")}, 1, "note: /data/local/bad: exit code 126: programs cannot be run from it"},
		{[]string{"device", "push", "--adb", adb, "--program", "device_test.go"}, 1, "device_test.go is no program for a device: build one with"},
		{[]string{"device", "pull", "--adb", adb, "none", filepath.Join(t.TempDir(), "x")}, 1, "none"},
	} {
		r := run(c.args...)
		require.Equal(t, c.code, r.code, "%q: %s", c.args, r.errors)
		require.Contains(t, r.errors, c.want, "%q", c.args)
	}
}
