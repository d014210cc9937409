package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The script that installs QNN's libraries tells how it is used, and of a download
// before it begins: here of one that fails. Standard output is for the folder alone.
func TestQNNLibsScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no bash, or one with paths of its own")
	}
	bin, cache := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "python3"), []byte("#!/bin/sh\necho no network >&2\nexit 7\n"), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", cache)
	script, err := os.ReadFile("../qnn-libs")
	require.NoError(t, err)
	usage := `^usage: tools/qnn-libs \[VERSION \[FOLDER\]\]\n(?s).* ESTREAM_QNN_LIBS .* 2\.3\.0 .* 236 MiB on disk\n.* 2\.7\.0 .* 2\.7\.0-arm64 .*` + cache + `/estream/qnn/VERSION,`
	for _, c := range []struct {
		args        []string
		code        int
		out, errors string // regular expressions
	}{
		{[]string{"--help"}, 0, usage, `^$`},
		{[]string{"-h"}, 0, usage, `^$`},
		{[]string{"1"}, 1, `^$`, `^version 1: want 2\.3\.0, 2\.7\.0 or 2\.7\.0-arm64\n$`},
		{nil, 7, `^$`, `^downloading onnxruntime-qnn 2\.3\.0, 89 MiB, to ` + cache + `/estream/qnn/2\.3\.0\nno network\n$`},
		{[]string{"2.7.0-arm64"}, 7, `^$`, `^downloading onnxruntime-qnn 2\.7\.0, 83 MiB, to ` + cache + `/estream/qnn/2\.7\.0-arm64\nno network\n$`},
	} {
		var out, errors bytes.Buffer
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"-s", "--"}, c.args...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(script), &out, &errors
		cmd.Run()
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%v: %s", c.args, &errors)
		require.Regexp(t, c.out, out.String(), "%v", c.args)
		require.Regexp(t, c.errors, errors.String(), "%v", c.args)
	}
}
