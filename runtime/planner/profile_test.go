package planner

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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
