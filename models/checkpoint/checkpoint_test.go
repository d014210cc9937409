package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

func TestOpenTakesTheFirstMatch(t *testing.T) {
	format := func(name string, match bool, opened *string) checkpoint.Format {
		return checkpoint.Format{
			Name:  name,
			Match: func(string) bool { return match },
			Open:  func(string, checkpoint.Options) (checkpoint.Checkpoint, error) { *opened = name; return nil, nil },
		}
	}
	var opened string
	_, err := checkpoint.Open("x", checkpoint.Options{}, format("a", false, &opened), format("b", true, &opened), format("c", true, &opened))
	must(t, err)
	if opened != "b" {
		t.Errorf("opened with %q, want b", opened)
	}
}

func TestOpenWithoutMatch(t *testing.T) {
	dir := tempDir(t)
	mkdir(t, dir, "empty")
	must(t, os.WriteFile(filepath.Join(mkdir(t, dir, "torch"), "pytorch_model.bin"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "torch", "config.json"), nil, 0o644))
	must(t, checkpointtest.Write(filepath.Join(dir, "adapter_model.safetensors"), tensors{"a": one(1)}))
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
	}
	gguf := checkpoint.Format{Name: "gguf", Match: func(string) bool { return false }}
	for _, c := range []struct{ path, want string }{
		{"gone", "checkpoint DIR/gone: no such file or directory"},
		{"empty", "checkpoint DIR/empty: no known weights in the folder, which holds nothing; known formats: safetensors, gguf"},
		{"torch", "checkpoint DIR/torch: no known weights in the folder, which holds config.json, pytorch_model.bin; known formats: safetensors, gguf"},
		{"", "checkpoint DIR: no known weights in the folder, which holds a, adapter_model.safetensors, b, c, d, e, empty, f and 1 more; known formats: safetensors, gguf"},
		{"a", "checkpoint DIR/a: a file of 1 bytes of no known format; known formats: safetensors, gguf"},
	} {
		_, err := checkpoint.Open(filepath.Join(dir, c.path), checkpoint.Options{}, checkpoint.SafeTensors, gguf)
		wantError(t, err, dir, c.want)
	}
	_, err := checkpoint.Open(dir, checkpoint.Options{})
	wantError(t, err, dir, "checkpoint DIR: no known weights in the folder, which holds a, adapter_model.safetensors, b, c, d, e, empty, f and 1 more; known formats: nothing")
}
