package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/tools/cli"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestStdoutFails: results that could not be written are a failure.
func TestStdoutFails(t *testing.T) {
	for _, args := range [][]string{{"inspect", packed(t, tiny, "f32")}, {"run", "--tokens", "1,2", packed(t, tiny, "f32")}, {"inspect", "--ir", packed(t, tiny, "f32")}, {"inspect", "--json", packed(t, tiny, "f32")}, {"ops"},
		{"bench", "-p", "2", "-r", "1", "--profile", packed(t, tiny, "f32")}, {"bench", "-p", "2", "-r", "1", "-o", "csv", packed(t, tiny, "f32")}, {"--version"}, {"--help"}} {
		var errs bytes.Buffer
		a := cli.Default()
		a.Stdout, a.Stderr = full{}, &errs
		require.Equal(t, 1, cli.Main(a, args), "%q", args)
		require.Equal(t, 1, strings.Count(errs.String(), "no space left on device"), "%q: %s", args, errs.String())
	}
}
