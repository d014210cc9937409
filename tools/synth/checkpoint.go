package synth

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"estream/models"
	"estream/pager/layout"
)

// CheckpointOptions says how to write a checkpoint. Families must be given.
type CheckpointOptions struct {
	Seed     uint64
	Families []models.Family
	Shard    int64 // bytes of a file's tensors, about; 0: 4 GB

	// Progress, where set, is told of bytes of tensors written, by one goroutine at a time.
	Progress func(done, total int64)
}

// A CheckpointReport tells what was written.
type CheckpointReport struct {
	Tensors, Shards int
	Written         int64 // bytes of tensors
	Elapsed         time.Duration
}

// Checkpoint writes the folder dir, which must not exist: safetensors in bf16,
// in numbered shards with an index if they are several, and the config.json at
// path, whose model it is. Until it is whole the folder is dir.partial, which a
// failure removes.
func Checkpoint(ctx context.Context, path, dir string, o CheckpointOptions) (_ *CheckpointReport, err error) {
	begun := time.Now()
	m, err := open(path, o.Seed, o.Families)
	if err != nil {
		return nil, err
	}
	f := &folder{model: m, dir: filepath.Clean(dir), o: o}
	f.plan()
	if err := f.create(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(f.partial()))
		}
	}()
	if err := f.write(ctx); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	if err := os.Rename(f.partial(), f.dir); err != nil {
		return nil, err
	}
	return &CheckpointReport{len(m.tensors), len(f.shards), f.total, time.Since(begun)}, nil
}

// A folder is a checkpoint while it is written.
type folder struct {
	*model
	dir    string
	o      CheckpointOptions
	shards [][]tensor
	total  int64

	mu   sync.Mutex
	done int64 // bytes written
}

func (f *folder) partial() string { return f.dir + ".partial" }

// plan cuts the tensors into shards.
func (f *folder) plan() {
	limit, size := f.o.Shard, int64(0)
	if limit <= 0 {
		limit = 4e9
	}
	for _, t := range f.tensors {
		if len(f.shards) == 0 || size+t.bytes() > limit {
			f.shards, size = append(f.shards, nil), 0
		}
		last := len(f.shards) - 1
		f.shards[last] = append(f.shards[last], t)
		size += t.bytes()
		f.total += t.bytes()
	}
}

// create makes the partial folder if nothing stands in the way.
func (f *folder) create() error {
	for _, dir := range []string{f.dir, f.partial()} {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("create %s: it is there already; remove it or name another: %w", dir, errors.Join(err, fs.ErrExist))
		}
	}
	free, err := layout.FreeSpace(filepath.Dir(f.dir))
	if err != nil {
		return err
	}
	const headers = 64 << 20
	if f.total+headers > free {
		return fmt.Errorf("create %s: %d bytes are needed and %d are free; make room or name another place", f.dir, f.total+headers, free)
	}
	return os.Mkdir(f.partial(), 0o777)
}

func (f *folder) write(ctx context.Context) error {
	places := map[string]string{}
	for i, tensors := range f.shards {
		name := "model.safetensors"
		if len(f.shards) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(f.shards))
		}
		for _, t := range tensors {
			places[t.name] = name
		}
		if err := f.shard(ctx, name, tensors); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(f.partial(), "config.json"), f.config, 0o666); err != nil || len(f.shards) == 1 {
		return err
	}
	index, err := json.MarshalIndent(map[string]any{"metadata": map[string]any{"total_size": f.total}, "weight_map": places}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.partial(), "model.safetensors.index.json"), index, 0o666)
}

// piece is how many elements are made and written at a time.
const piece = 1 << 19

// shard writes one file, pieces of its tensors at a time in any order.
func (f *folder) shard(ctx context.Context, name string, tensors []tensor) (err error) {
	out, err := os.Create(filepath.Join(f.partial(), name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	head, err := header(tensors)
	if err != nil {
		return err
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(goruntime.GOMAXPROCS(0))
	off := int64(len(head))
	for _, t := range tensors {
		for at, n := int64(0), t.elements(); at < n; at += piece {
			to := off + 2*at
			g.Go(func() error { return f.piece(ctx, out, to, t, at, min(piece, n-at)) })
		}
		off += t.bytes()
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return out.Sync()
}

// piece writes n elements of t, from element at on, to offset off.
func (f *folder) piece(ctx context.Context, out *os.File, off int64, t tensor, at, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	data := make([]byte, 2*n)
	f.bits(t, at, data)
	if _, err := out.WriteAt(data, off); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done += 2 * n; f.o.Progress != nil {
		f.o.Progress(f.done, f.total)
	}
	return nil
}

// header returns the beginning of a safetensors file of tensors one after another.
func header(tensors []tensor) ([]byte, error) {
	type entry struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	entries, at := map[string]any{"__metadata__": map[string]string{"format": "pt", "source": "synthetic"}}, int64(0)
	for _, t := range tensors {
		entries[t.name] = entry{"BF16", t.shape, [2]int64{at, at + t.bytes()}}
		at += t.bytes()
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	padded := string(text) + strings.Repeat(" ", -len(text)&7)
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(padded))), padded...), nil
}
