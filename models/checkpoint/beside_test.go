package checkpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"estream/models/checkpoint"
)

// A file beside the weights is found from the folder and from a file in it, and
// kept to the rules of weights.
func TestBeside(t *testing.T) {
	dir := tempDir(t)
	weights := filepath.Join(mkdir(t, dir, "ckpt"), "x.safetensors")
	must(t, os.WriteFile(weights, nil, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "ckpt", "vocab.txt"), []byte("a b"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("s"), 0o644))
	must(t, os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, "ckpt", "out.txt")))
	must(t, os.Symlink("vocab.txt", filepath.Join(dir, "ckpt", "in.txt")))
	must(t, os.Symlink("nothing", filepath.Join(dir, "ckpt", "dangling.txt")))
	for _, path := range []string{weights, filepath.Dir(weights)} {
		for _, c := range []struct{ name, data, err string }{
			{"vocab.txt", "a b", ""},
			{"in.txt", "a b", ""},
			{"none.txt", "", ""},
			{"out.txt", "", "DIR/ckpt/out.txt: a link to DIR/secret; copy the file itself into the folder: outside the checkpoint"},
			{"../secret", "", `checkpoint DIR/ckpt: file "../secret": outside the checkpoint`},
			{"dangling.txt", "", "DIR/ckpt/dangling.txt: no such file or directory"},
		} {
			data, found, err := checkpoint.Beside(path, c.name, 3)
			if c.err != "" {
				wantError(t, err, dir, c.err)
			} else {
				must(t, err)
			}
			if string(data) != c.data || found != (c.data != "") {
				t.Errorf("%s beside %s: %q, %v, want %q", c.name, path, data, found, c.data)
			}
		}
	}
	_, _, err := checkpoint.Beside(dir+"/ckpt", "vocab.txt", 2)
	wantError(t, err, dir, "DIR/ckpt/vocab.txt: 3 bytes, want at most 2")
	_, _, err = checkpoint.Beside(dir+"/none", "vocab.txt", 2)
	wantError(t, err, dir, "checkpoint DIR/none: no such file or directory")
}
