package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/tools/cli"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestStdoutFails: results that could not be written are a failure.
func TestStdoutFails(t *testing.T) {
	for _, args := range [][]string{{"inspect", packed(t, tiny, "f32")}, {"run", "--tokens", "1,2", packed(t, tiny, "f32")}, {"inspect", "--ir", packed(t, tiny, "f32")}, {"inspect", "--json", packed(t, tiny, "f32")}, {"ops"},
		{"bench", "-p", "2", "-r", "1", "--profile", packed(t, tiny, "f32")}, {"bench", "-p", "2", "-r", "1", "-o", "csv", packed(t, tiny, "f32")}, {"--version"}, {"--help"}, {"diff", tiny, tiny}} {
		var errs bytes.Buffer
		a := cli.Default()
		a.Stdout, a.Stderr = full{}, &errs
		code := 1
		if args[0] == "diff" {
			code = 2 // 1 is that something differs
		}
		require.Equal(t, code, cli.Main(a, args), "%q", args)
		require.Equal(t, 1, strings.Count(errs.String(), "no space left on device"), "%q: %s", args, errs.String())
	}
}

// slowWriter is a writer that takes longer than a write may after a command has ended.
type slowWriter struct{ bytes.Buffer }

func (s *slowWriter) Write(b []byte) (int, error) {
	time.Sleep(400 * time.Millisecond)
	return s.Buffer.Write(b)
}

// TestMainTwice: an App is for as many commands as one likes.
func TestMainTwice(t *testing.T) {
	out := new(slowWriter)
	a := cli.Default()
	a.Stdout = out
	for i := range 2 {
		out.Reset()
		require.Zero(t, cli.Main(a, []string{"--version"}), i)
		require.Contains(t, out.String(), "estream version ", i)
		require.Same(t, out, a.Stdout, "what the caller set")
	}
}
