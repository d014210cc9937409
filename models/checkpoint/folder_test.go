package checkpoint_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

func mkdir(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	must(t, os.MkdirAll(dir, 0o755))
	return dir
}

// Shards, config.json, the index and model.safetensors are refused where they lead out of the folder, whatever is
// there: each bad place holds a good file.
func TestOutsideIsRefused(t *testing.T) {
	top := tempDir(t)
	secret := filepath.Join(mkdir(t, top, "elsewhere"), "x.safetensors")
	must(t, checkpointtest.Write(secret, tensors{"a": one(1)}))
	indexing := func(shard string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			must(t, checkpointtest.WriteIndex(dir, map[string]string{"a": shard}))
		}
	}
	linking := func(name, target string, shard ...string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			must(t, os.Symlink(target, filepath.Join(dir, name)))
			for _, s := range shard {
				indexing(s)(t, dir)
			}
		}
	}
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"U39 absolute", indexing(secret), `checkpoint DIR/model: file "DIR/elsewhere/x.safetensors": outside the checkpoint`},
		{"U39 up", indexing("../elsewhere/x.safetensors"), `checkpoint DIR/model: file "../elsewhere/x.safetensors": outside the checkpoint`},
		{"U39 up and back", indexing("../model/x.safetensors"), `checkpoint DIR/model: file "../model/x.safetensors": outside the checkpoint`},
		{"U39 down and up", indexing("sub/../x.safetensors"), `checkpoint DIR/model: file "sub/../x.safetensors": outside the checkpoint`},
		{"U39 up with backslashes", indexing(`..\elsewhere\x.safetensors`), `checkpoint DIR/model: file "..\\elsewhere\\x.safetensors": outside the checkpoint`},
		{"U39 no name", indexing(""), `checkpoint DIR/model: file "": outside the checkpoint`},
		{"U39 link to a shard", linking("x.safetensors", "../elsewhere/x.safetensors", "x.safetensors"),
			`DIR/model/x.safetensors: a link to DIR/elsewhere/x.safetensors; copy the file itself into the folder: outside the checkpoint`},
		{"U39 absolute link", linking("x.safetensors", secret, "x.safetensors"),
			`DIR/model/x.safetensors: a link to DIR/elsewhere/x.safetensors; copy the file itself into the folder: outside the checkpoint`},
		{"U39 link to a folder", linking("sub", "../elsewhere", "sub/x.safetensors"),
			`DIR/model/sub/x.safetensors: a link to DIR/elsewhere/x.safetensors; copy the file itself into the folder: outside the checkpoint`},
		{"U39 link model.safetensors", linking("model.safetensors", "../elsewhere/x.safetensors"),
			`DIR/model/model.safetensors: a link to DIR/elsewhere/x.safetensors; copy the file itself into the folder: outside the checkpoint`},
		{"U39 link index", linking("model.safetensors.index.json", secret),
			`DIR/model/model.safetensors.index.json: a link to DIR/elsewhere/x.safetensors; copy the file itself into the folder: outside the checkpoint`},
		{"folder", func(t *testing.T, dir string) { mkdir(t, dir, "model.safetensors") }, `DIR/model/model.safetensors: not a regular file (d---------)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := mkdir(t, top, "model")
			defer os.RemoveAll(dir)
			c.make(t, dir)
			_, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
			wantError(t, err, top, c.want)
		})
	}
}

// A config.json that leads out is refused when it is asked for.
func TestConfig(t *testing.T) {
	top := tempDir(t)
	dir := mkdir(t, top, "model")
	must(t, os.WriteFile(filepath.Join(top, "config.json"), []byte("{}"), 0o644))
	must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors{"a": one(1)}))
	config := filepath.Join(dir, "config.json")
	for _, path := range []string{dir, filepath.Join(dir, "model.safetensors")} {
		ck := open(t, path)

		_, err := ck.Config()
		wantError(t, err, top, "DIR/model/config.json: no such file or directory")
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v", err)
		}

		must(t, os.Symlink("../config.json", config))
		_, err = ck.Config()
		wantError(t, err, top, "DIR/model/config.json: a link to DIR/config.json; copy the file itself into the folder: outside the checkpoint")
		if !errors.Is(err, checkpoint.ErrOutside) {
			t.Errorf("got %v", err)
		}
		must(t, os.Remove(config))

		must(t, os.WriteFile(config, make([]byte, 16<<20+1), 0o644))
		_, err = ck.Config()
		wantError(t, err, top, "DIR/model/config.json: 16777217 bytes, want at most 16777216")

		must(t, os.WriteFile(config, []byte(`{"model_type":"olmoe"}`), 0o644))
		got, err := ck.Config()
		must(t, err)
		if string(got) != `{"model_type":"olmoe"}` {
			t.Errorf("config: got %s", got)
		}
		must(t, os.Remove(config))
	}
}

// writeCache makes a hub cache with the model at its revision as links, and returns the snapshot's folder.
func writeCache(t testing.TB, top string) string {
	t.Helper()
	model := mkdir(t, top, "hub", "models--owner--name")
	blobs := mkdir(t, model, "blobs")
	snapshot := mkdir(t, model, "snapshots", "0123abcd")
	writeShards(t, blobs)
	must(t, os.WriteFile(filepath.Join(blobs, "config.json"), []byte("{}"), 0o644))
	for _, name := range []string{shard1, shard2, shard3, indexN, "config.json"} {
		rename(t, blobs, name, "blob-"+name)
		must(t, os.Symlink("../../blobs/blob-"+name, filepath.Join(snapshot, name)))
	}
	return snapshot
}

func TestHubCache(t *testing.T) {
	top := tempDir(t)
	snapshot := writeCache(t, top)
	link := filepath.Join(top, "olmoe")
	must(t, os.Symlink(snapshot, link))
	for _, c := range []struct {
		path    string
		tensors int
	}{{snapshot, 13}, {link, 13}, {filepath.Join(snapshot, shard2), 6}} {
		ck := open(t, c.path)
		if got := len(ck.Tensors()); got != c.tensors {
			t.Errorf("%s: got %d tensors, want %d", c.path, got, c.tensors)
		}
		if _, err := ck.Config(); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		if got := filepath.Base(ck.Files()[0].Path); got != shard1 && got != shard2 {
			t.Errorf("%s: got file %s, want the name of a shard", c.path, got)
		}
	}
}

// A snapshot's links may not lead to another model of the cache, and a folder that only looks like one has no cache.
func TestOutsideOfTheCache(t *testing.T) {
	for _, c := range []struct{ name, snapshot, target, want string }{
		{"U39 another model", "hub/models--a--b/snapshots/1", "hub/models--c--d/blobs/x",
			"DIR/hub/models--a--b/snapshots/1/model.safetensors: a link to DIR/hub/models--c--d/blobs/x; copy the file itself into the folder: outside the checkpoint"},
		{"U39 a name that begins alike", "hub/models--a--b/snapshots/1", "hub/models--a--bc/x",
			"DIR/hub/models--a--b/snapshots/1/model.safetensors: a link to DIR/hub/models--a--bc/x; copy the file itself into the folder: outside the checkpoint"},
		{"U39 no model around snapshots", "hub/mine/snapshots/1", "hub/mine/blobs/x",
			"DIR/hub/mine/snapshots/1/model.safetensors: a link to DIR/hub/mine/blobs/x; copy the file itself into the folder: outside the checkpoint"},
		{"U39 no snapshots", "hub/models--a--b/other/1", "hub/models--a--b/blobs/x",
			"DIR/hub/models--a--b/other/1/model.safetensors: a link to DIR/hub/models--a--b/blobs/x; copy the file itself into the folder: outside the checkpoint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := tempDir(t)
			dir := mkdir(t, top, c.snapshot)
			target := filepath.Join(top, c.target)
			mkdir(t, filepath.Dir(target))
			must(t, checkpointtest.Write(target, tensors{"a": one(1)}))
			must(t, os.Symlink(target, filepath.Join(dir, "model.safetensors")))
			_, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
			wantError(t, err, top, c.want)
		})
	}
}

// Other weights in a folder are not read, even to find that they are broken.
func TestOtherFilesAreNotRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		write func(t *testing.T, dir string)
		want  int
	}{
		{"U42 beside an index", func(t *testing.T, dir string) {
			writeShards(t, dir)
			must(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), []byte("broken"), 0o644))
		}, 13},
		{"U42 beside model.safetensors", func(t *testing.T, dir string) {
			must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), many("a", 5)))
			must(t, os.WriteFile(filepath.Join(dir, "model-00001-of-00002.safetensors"), []byte("broken"), 0o644))
		}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			c.write(t, dir)
			for _, name := range []string{"adapter_model.safetensors", "goldens.safetensors", "model.bf16.safetensors", "model.safetensors.bak", "consolidated.safetensors"} {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte("broken"), 0o644))
			}
			if got := len(open(t, dir).Tensors()); got != c.want {
				t.Errorf("got %d tensors, want %d", got, c.want)
			}
		})
	}
}
