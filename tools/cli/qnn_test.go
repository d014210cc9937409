package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// qnnLibrary skips a test where the vendor's library of a name is not there.
func qnnLibrary(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("ESTREAM_QNN_LIBS")
	if dir == "" {
		t.Skip("ESTREAM_QNN_LIBS names no folder with QNN's libraries: tools/qnn-libs installs them")
	}
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		t.Skipf("no %s: %v", name, err)
	}
}

// A package is made for QNN without its libraries, and run with them.
func TestQNN(t *testing.T) {
	dir, again := filepath.Join(t.TempDir(), "p"), filepath.Join(t.TempDir(), "r")
	ok(t, "pack", "--backend", "qnn-cpu", "--encoding", "f32", tiny, dir)
	ok(t, "repack", "--backend", "qnn-htp", packed(t, tiny, "f32"), again)
	require.Contains(t, ok(t, "inspect", dir).out, "packing qnn for qnn-cpu\n")
	require.Contains(t, ok(t, "inspect", again).out, "packing qnn for qnn-htp\n")
	next := func(args ...string) string {
		out, _, _ := strings.Cut(ok(t, append([]string{"run", "--tokens", "1,2,3"}, args...)...).out, "time ")
		return out
	}
	want := next(dir) // on the host
	hosts := packed(t, tiny, "f32")
	for _, device := range []string{"qnn-cpu", "qnn-htp"} {
		for _, command := range [][]string{{"run", "--tokens", "1"}, {"bench"}, {"plan"}} {
			r := run(append(command, "--backend", device, hosts)...)
			require.Equal(t, 1, r.code)
			require.Regexp(t, `^estream: package `+hosts+`: `+device+`: graph \S+: .* is packed as host, which `+device+` does not read: estream repack --backend `+device+` `+hosts+` NEW\n$`, r.errors, command)
		}
	}
	qnnLibrary(t, "libQnnCpu.so")
	require.Equal(t, want, next("--backend", "qnn-cpu", dir))
	require.Regexp(t, `21 values of p33 are within 0.0001 of `, ok(t, "check", "--backend", "qnn-cpu", "--golden", goldens, again).out)
	require.Regexp(t, `(?s)qnn-cpu .*runs on +.*/libQnnCpu.so, QAIRT 2\.\d+.*lacks`, ok(t, "backends").out)
}

// Without libraries a command says what is missing and how to get it.
func TestQNNMissing(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("ESTREAM_QNN_LIBS", empty)
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-cpu", "--encoding", "f32", tiny, dir)
	r := run("run", "--tokens", "1", "--backend", "qnn-cpu", dir)
	require.Equal(t, 1, r.code)
	require.Regexp(t, `no library of QNN in `+empty+`: .*tools/qnn-libs`, r.errors)
	require.Regexp(t, `(?s)qnn-cpu .*missing +qnn-cpu: no library of QNN in `+empty+`: .*tools/qnn-libs.*qnn-htp`, ok(t, "backends").out)
	require.Contains(t, ok(t, "backends", "--json").out, `"needs":{"found":"","missing":"qnn-cpu: no library of QNN in `)
	r = run("qnn-child", "x")
	require.Equal(t, []any{2, `estream: unknown command "x" for "estream qnn-child": usage: estream qnn-child [flags]` + "\n"}, []any{r.code, r.errors})
}

// Graphs are compiled for chips that are not there, kept, and replaced.
func TestPrepareQNN(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "f32", tiny, dir)
	r := run("prepare", "--soc", "v79,SM1", dir)
	require.Equal(t, []any{2, `estream: --soc: unknown chip "SM1": give a name such as SM8750, its number in QNN such as 69, or a generation such as v79` + "\n"}, []any{r.code, r.errors})
	r = run("prepare", packed(t, tiny, "f32"))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "packed as host, which qnn-htp does not read: estream repack --backend qnn-htp "+packed(t, tiny, "f32")+" NEW\n")
	qnnLibrary(t, "libQnnHtp.so")
	require.Regexp(t, `^\S+: programs T1,16,64 S64,512,4096 R1,4,16,64 of qnn-htp for v79, made by QAIRT 2\.\S+: qnn-htp.v79.[0-9a-f]{8}.bin, [\d.]+ MiB\n$`, ok(t, "prepare", "--soc", "v79", dir).out)
	require.Regexp(t, `every checksum is right`, ok(t, "verify", dir).out)
}
