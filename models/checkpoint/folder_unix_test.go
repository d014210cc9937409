//go:build unix

package checkpoint_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"estream/models/checkpoint"
)

// Opening a pipe would wait for a writer.
func TestPipeIsRefused(t *testing.T) {
	dir := tempDir(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "model.safetensors"), 0o644))
	_, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
	wantError(t, err, dir, "DIR/model.safetensors: not a regular file (p---------)")
}
