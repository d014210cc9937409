package checkpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"estream/models/checkpoint"
	"estream/models/checkpoint/checkpointtest"
)

// What a stranger names comes in a message as far as it helps.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("k", 100<<10)
	cut := long[:80]
	index := func(places map[string]string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			must(t, checkpointtest.Write(filepath.Join(dir, shard1), tensors{"a": one(1)}))
			must(t, checkpointtest.WriteIndex(dir, places))
		}
	}
	several := map[string]string{}
	for i := range 2000 {
		several[fmt.Sprint(i)] = fmt.Sprintf("%04d", i)
	}
	const config = `{"quantization_config": {"weight_block_size": [`
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"shard", index(map[string]string{"a": long}), `checkpoint DIR: file "` + cut + `": a name of 102400 bytes, want at most 255`},
		{"tensor of a missing shard", index(map[string]string{long: "b"}), "DIR/" + indexN + ": 1 of 1 shards missing: b (" + cut + "); download them again: incomplete download"},
		{"tensor of no shard", index(map[string]string{"a": shard1, long: shard1}),
			"DIR/" + indexN + ": names 1 of 2 tensors that no shard holds: " + cut + "; download the index and shards of one revision: tensor absent"},
		{"blocks", func(t *testing.T, dir string) {
			must(t, checkpointtest.Write(filepath.Join(dir, "model.safetensors"), tensors{"a": one(1)}))
			must(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config+strings.Repeat("1,", 1<<20)+`1]}}`), 0o666))
		}, "DIR/config.json: weight_block_size is [" + strings.Repeat("1 ", 39) + "1: want two sizes from 1 to 1048576"},
		{"shards", index(several), "DIR/" + indexN + ": 2000 of 2000 shards missing: " + missing(1000) + " and 1000 more; download them again: incomplete download"},
	} {
		dir := tempDir(t)
		c.make(t, dir)
		_, err := checkpoint.Open(dir, checkpoint.Options{}, checkpoint.SafeTensors)
		wantError(t, err, dir, c.want)
	}
	c, path := openFile(t, tensors{long: one(1)})
	wantError(t, c.Read(context.Background(), long, 1, 1, make([]float32, 1)), filepath.Dir(path), "DIR/"+filepath.Base(path)+`: tensor "`+cut+`": rows [1,1+1) of 1`)
	wantError(t, c.Read(context.Background(), long+"!", 0, 1, make([]float32, 1)), filepath.Dir(path), `checkpoint DIR: no tensor "`+cut+`"`)
}

// missing lists shards 0 to n-1, each of a tensor named by its number.
func missing(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%04d (%d)", i, i))
	}
	return strings.Join(list, "; ")
}
