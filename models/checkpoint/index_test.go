package checkpoint_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

func one(v float32) checkpointtest.Tensor { return checkpointtest.F32([]int{1}, v) }

// many makes n tensors named prefix.0 and so on.
func many(prefix string, n int) tensors {
	m := tensors{}
	for i := range n {
		m[fmt.Sprintf("%s.%d", prefix, i)] = one(float32(i))
	}
	return m
}

// writeShards makes a checkpoint of three shards: a and a.0 to a.4; b.0 to b.5; c.
func writeShards(t testing.TB, dir string) {
	t.Helper()
	a := many("a", 5)
	a["a"] = one(-1)
	_, err := checkpointtest.WriteShards(dir, a, many("b", 6), tensors{"c": one(3)})
	must(t, err)
}

func rename(t testing.TB, dir, from, to string) {
	t.Helper()
	must(t, os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)))
}

const (
	shard1 = "model-00001-of-00003.safetensors"
	shard2 = "model-00002-of-00003.safetensors"
	shard3 = "model-00003-of-00003.safetensors"
	indexN = "model.safetensors.index.json"
)

func TestSharded(t *testing.T) {
	dir := tempDir(t)
	writeShards(t, dir)
	ck := open(t, dir)
	var names []string
	for _, tensor := range ck.Tensors() {
		names = append(names, tensor.Name)
	}
	if got, want := strings.Join(names, " "), "a a.0 a.1 a.2 a.3 a.4 b.0 b.1 b.2 b.3 b.4 b.5 c"; got != want {
		t.Errorf("tensors: got %s, want %s", got, want)
	}
	var files []string
	for _, f := range ck.Files() {
		info, err := os.Stat(f.Path)
		must(t, err)
		if info.Size() != f.Size {
			t.Errorf("%s: got %d bytes, want %d", f.Path, f.Size, info.Size())
		}
		files = append(files, filepath.Base(f.Path))
	}
	if want := []string{shard1, shard2, shard3}; !slices.Equal(files, want) {
		t.Errorf("files: got %v, want %v", files, want)
	}
	var got [1]float32
	must(t, ck.Read(t.Context(), "b.4", 0, 1, got[:]))
	if got[0] != 4 {
		t.Errorf("b.4: got %v, want 4", got[0])
	}
}

// Every way in which an index and the shards disagree, and whether the shards open without the index.
func TestIndexDisagrees(t *testing.T) {
	remove := func(t *testing.T, dir string, names ...string) {
		for _, n := range names {
			must(t, os.Remove(filepath.Join(dir, n)))
		}
	}
	places := map[string]string{"a": shard1, "b.0": shard2, "c": shard3}
	index := func(t *testing.T, dir string, more ...string) {
		p := map[string]string{}
		for k, v := range places {
			p[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			p[more[i]] = more[i+1]
		}
		must(t, checkpointtest.WriteIndex(dir, p))
	}
	renamed := "DIR/" + indexN + ": names shards that are not here (" + shard1 + ", " + shard2 + ", " + shard3 + "), but those here hold all its 13 tensors; " +
		"estream pack --ignore-index reads them: index stale, shard headers complete"
	for _, c := range []struct {
		name    string
		spoil   func(t *testing.T, dir string)
		want    string
		kind    error
		without string // the error with IgnoreIndex
	}{
		{"U01 one shard missing", func(t *testing.T, dir string) { remove(t, dir, shard2) },
			"DIR/" + indexN + ": 1 of 3 shards missing: " + shard2 + " (b.0, b.1, b.2, b.3 and 2 more); download them again: incomplete download",
			checkpoint.ErrIncomplete,
			"checkpoint DIR: 2 of the 00003 numbered shards here, " + shard2 + " not; download it again: incomplete download"},
		{"U01 two shards missing", func(t *testing.T, dir string) { remove(t, dir, shard1, shard3) },
			"DIR/" + indexN + ": 2 of 3 shards missing: " + shard1 + " (a, a.0, a.1, a.2 and 2 more); " + shard3 + " (c); download them again: incomplete download",
			checkpoint.ErrIncomplete,
			"checkpoint DIR: 1 of the 00003 numbered shards here, " + shard1 + " not; download it again: incomplete download"},
		{"U01 all shards missing", func(t *testing.T, dir string) { remove(t, dir, shard1, shard2, shard3) },
			"DIR/" + indexN + ": 3 of 3 shards missing: " + shard1 + " (a, a.0, a.1, a.2 and 2 more); " + shard2 + " (b.0, b.1, b.2, b.3 and 2 more); " +
				shard3 + " (c); download them again: incomplete download",
			checkpoint.ErrIncomplete, "DIR/model.safetensors: no such file or directory: incomplete download"},
		{"a link of the hub to nothing", func(t *testing.T, dir string) {
			remove(t, dir, shard3)
			must(t, os.Symlink("blob", filepath.Join(dir, shard3)))
		},
			"DIR/" + indexN + ": 1 of 3 shards missing: " + shard3 + " (c); download them again: incomplete download",
			checkpoint.ErrIncomplete, "DIR/" + shard3 + ": no such file or directory: incomplete download"},
		{"a shard missing and another cut", func(t *testing.T, dir string) {
			remove(t, dir, shard3)
			must(t, os.Truncate(filepath.Join(dir, shard1), 20))
		},
			"DIR/" + indexN + ": 1 of 3 shards missing: " + shard3 + " (c); download them again: incomplete download",
			checkpoint.ErrIncomplete,
			"checkpoint DIR: 2 of the 00003 numbered shards here, " + shard3 + " not; download it again: incomplete download"},

		{"U02 shards renamed", func(t *testing.T, dir string) {
			for i, s := range []string{shard1, shard2, shard3} {
				rename(t, dir, s, fmt.Sprintf("model-%05d-of-000003.safetensors", i+1))
			}
		},
			renamed, checkpoint.ErrStaleIndex, ""},
		{"U02 shards of another name", func(t *testing.T, dir string) {
			for i, s := range []string{shard1, shard2, shard3} {
				rename(t, dir, s, fmt.Sprintf("a-%05d-of-00003.safetensors", i+1))
			}
		}, renamed, checkpoint.ErrStaleIndex, ""},
		{"U02 shards without numbers, beside others", func(t *testing.T, dir string) {
			for i, s := range []string{shard1, shard2, shard3} {
				rename(t, dir, s, []string{"one.safetensors", "two.safetensors", "weights.safetensors"}[i])
			}
			must(t, checkpointtest.Write(filepath.Join(dir, "goldens.safetensors"), tensors{"logits": one(1)}))
		}, renamed, checkpoint.ErrStaleIndex, ""},
		{"U02 one shard renamed", func(t *testing.T, dir string) { rename(t, dir, shard2, "b.safetensors") },
			"DIR/" + indexN + ": names shards that are not here (" + shard2 + "), but those here hold all its 13 tensors; " +
				"estream pack --ignore-index reads them: index stale, shard headers complete",
			checkpoint.ErrStaleIndex, ""},
		{"U02 merged as model.safetensors", func(t *testing.T, dir string) {
			remove(t, dir, shard1, shard2, shard3)
			must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors{"a": one(1), "b.0": one(2), "c": one(3)}))
			index(t, dir)
		},
			"DIR/" + indexN + ": names shards that are not here (" + shard1 + ", " + shard2 + ", " + shard3 + "), but those here hold all its 3 tensors; " +
				"estream pack --ignore-index reads them: index stale, shard headers complete",
			checkpoint.ErrStaleIndex, ""},
		{"U02 renamed, one in two precisions", func(t *testing.T, dir string) {
			for i, s := range []string{shard1, shard2, shard3} {
				rename(t, dir, s, fmt.Sprintf("%c.safetensors", 'a'+i))
			}
			must(t, checkpointtest.Write(filepath.Join(dir, "c.f16.safetensors"), tensors{"c": one(3)}))
		},
			"DIR/" + indexN + ": 3 of 3 shards missing: " + shard1 + " (a, a.0, a.1, a.2 and 2 more); " + shard2 + " (b.0, b.1, b.2, b.3 and 2 more); " +
				shard3 + " (c); download them again: incomplete download",
			checkpoint.ErrIncomplete, `DIR/c.safetensors: tensor "c": duplicate tensor: c.f16.safetensors holds it too`},
		{"U02 merged into one shard", func(t *testing.T, dir string) {
			remove(t, dir, shard1, shard2, shard3)
			must(t, checkpointtest.Write(filepath.Join(dir, "model-00001-of-00001.safetensors"), tensors{"a": one(1), "b.0": one(2), "c": one(3)}))
			index(t, dir)
		},
			"DIR/" + indexN + ": names shards that are not here (" + shard1 + ", " + shard2 + ", " + shard3 + "), but those here hold all its 3 tensors; " +
				"estream pack --ignore-index reads them: index stale, shard headers complete",
			checkpoint.ErrStaleIndex, ""},
		{"renamed and one lost", func(t *testing.T, dir string) {
			rename(t, dir, shard1, "model-00001-of-00002.safetensors")
			rename(t, dir, shard2, "model-00002-of-00002.safetensors")
			remove(t, dir, shard3)
			index(t, dir)
		},
			"DIR/" + indexN + ": 3 of 3 shards missing: " + shard1 + " (a); " + shard2 + " (b.0); " + shard3 + " (c); download them again: incomplete download",
			checkpoint.ErrIncomplete, ""},
		{"U02 tensors in other shards", func(t *testing.T, dir string) { index(t, dir, "c", shard1, "a", shard2) },
			"DIR/" + indexN + ": places 2 of 3 tensors in shards that do not hold them, but others do: a, c; " +
				"estream pack --ignore-index reads them: index stale, shard headers complete",
			checkpoint.ErrStaleIndex, ""},
		{"a tensor in a shard the index does not name", func(t *testing.T, dir string) { index(t, dir, "c", shard1) },
			"DIR/" + indexN + ": places 1 of 3 tensors in shards that do not hold them, but others do: c; " +
				"estream pack --ignore-index reads them: index stale, shard headers complete",
			checkpoint.ErrStaleIndex, ""},
		{"U02 tensor absent", func(t *testing.T, dir string) { index(t, dir, "d", shard1, "c", shard1) },
			"DIR/" + indexN + ": names 1 of 4 tensors that no shard holds: d; download the index and shards of one revision: tensor absent",
			checkpoint.ErrAbsent, ""},
		{"many tensors absent", func(t *testing.T, dir string) {
			var more []string
			for i := range 10 {
				more = append(more, fmt.Sprint("d", i), shard1)
			}
			index(t, dir, more...)
		},
			"DIR/" + indexN + ": names 10 of 13 tensors that no shard holds: d0, d1, d2, d3, d4, d5, d6, d7 and 2 more; " +
				"download the index and shards of one revision: tensor absent",
			checkpoint.ErrAbsent, ""},

		{"no index, shards of another name", func(t *testing.T, dir string) {
			for i, s := range []string{shard1, shard2, shard3} {
				rename(t, dir, s, fmt.Sprintf("a-%05d-of-00003.safetensors", i+1))
			}
			remove(t, dir, indexN)
		},
			"checkpoint DIR: numbered shards without " + indexN + "; download it, or estream pack --ignore-index reads them: incomplete download",
			checkpoint.ErrIncomplete, ""},
		{"no index", func(t *testing.T, dir string) { remove(t, dir, indexN) },
			"checkpoint DIR: numbered shards without " + indexN + "; download it, or estream pack --ignore-index reads them: incomplete download",
			checkpoint.ErrIncomplete, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tempDir(t)
			writeShards(t, dir)
			c.spoil(t, dir)
			_, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
			wantError(t, err, dir, c.want)
			if !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %v", err, c.kind)
			}
			ck, err := checkpoint.Open(dir, checkpoint.Options{IgnoreIndex: true}, checkpoint.SafeTensors)
			if c.without != "" {
				wantError(t, err, dir, c.without)
				return
			}
			must(t, err)
			if got := len(ck.Tensors()); c.want == renamed && got != 13 {
				t.Errorf("without the index: got %d tensors, want 13", got)
			}
			must(t, ck.Close())
		})
	}
}

func TestDuplicateTensorOverShards(t *testing.T) {
	dir := tempDir(t)
	_, err := checkpointtest.WriteShards(dir, tensors{"a": one(1), "w": one(1)}, tensors{"b": one(2), "w": one(2)})
	must(t, err)
	for _, opt := range []checkpoint.Options{{}, {IgnoreIndex: true}} {
		_, err = checkpoint.Open(dir, opt, checkpoint.SafeTensors)
		wantError(t, err, dir, `DIR/model-00002-of-00002.safetensors: tensor "w": duplicate tensor: model-00001-of-00002.safetensors holds it too`)
	}
}

func TestCutShard(t *testing.T) {
	dir := tempDir(t)
	writeShards(t, dir)
	path := filepath.Join(dir, shard2)
	info, err := os.Stat(path)
	must(t, err)
	must(t, os.Truncate(path, info.Size()-1))
	_, err = checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
	wantError(t, err, dir, fmt.Sprintf("DIR/%s: cut file: %d bytes, want %d: incomplete download or copy", shard2, info.Size()-1, info.Size()))
	must(t, os.Truncate(path, info.Size()/2))
	_, err = checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
	broken, ok := errors.AsType[*checkpoint.FormatError](err)
	if !ok || broken.Rule != checkpoint.RuleCut || broken.File != path {
		t.Errorf("half of a shard: got %v", err)
	}
}

func TestIndexMetadataIsPassedOver(t *testing.T) {
	dir := tempDir(t)
	must(t, checkpointtest.Write(filepath.Join(dir, "x.safetensors"), tensors{"a": one(1)}))
	text := `{ "metadata" : {"total_size": 4.5e3, "more": [1, {"a": null}, [true], "weight_map"], "none": {}} , "weight_map" : {"a" : "x.safetensors"} }`
	must(t, os.WriteFile(filepath.Join(dir, indexN), []byte(text), 0o644))
	if got := open(t, dir).Tensors(); len(got) != 1 || got[0].Name != "a" {
		t.Errorf("tensors: got %v", got)
	}
}
