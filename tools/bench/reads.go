package bench

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"estream/pager"
	"estream/pager/crc32c"
)

// A recorder keeps the reads of a run, in the order in which they began.
type recorder struct {
	mu    sync.Mutex
	files []pager.Source
	list  []read
}

type read struct {
	from pager.Source
	off  int64
	n    int
}

// recorded is a source whose reads a recorder keeps.
type recorded struct {
	pager.Source
	by *recorder
}

func (s recorded) ReadAt(ctx context.Context, p []byte, off int64) error {
	s.by.mu.Lock()
	s.by.list = append(s.by.list, read{s.Source, off, len(p)})
	s.by.mu.Unlock()
	return s.Source.ReadAt(ctx, p, off)
}

// open returns a function for runtime.Options.Source that opens files by another
// one, pager.OpenFile where that is nil, and has their reads kept.
func (r *recorder) open(other func(string) (pager.Source, error)) func(string) (pager.Source, error) {
	return func(path string) (src pager.Source, err error) {
		if other != nil {
			src, err = other(path)
		} else {
			src, err = pager.OpenFile(path)
		}
		if err != nil {
			return nil, err
		}
		r.files = append(r.files, src)
		return recorded{src, r}, nil
	}
}

// notes tells of files that are not read past the page cache.
func (r *recorder) notes() []string {
	var out []string
	for _, src := range r.files {
		if note := pager.Note(src); note != "" {
			out = append(out, note)
		}
	}
	return out
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = r.list[:0]
}

// replay does the reads of the last run again, so many at a time, and computes
// their checksums as readers do; it returns how long that takes.
func (r *recorder) replay(ctx context.Context, readers int) (time.Duration, error) {
	list := slices.Clone(r.list)
	most := 1
	for _, x := range list {
		most = max(most, x.n)
	}
	memory := make([][]byte, readers)
	for i := range memory {
		mem, free, err := pager.Pages(int64(most))
		if err != nil {
			return 0, err
		}
		defer free()
		clear(mem) // so that no page is new to a read
		memory[i] = mem
	}
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for _, mem := range memory {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return nil
				}
				p := mem[:list[i].n]
				if err := list[i].from.ReadAt(ctx, p, list[i].off); err != nil {
					return err
				}
				crc32c.Checksum(p)
			}
		})
	}
	err := g.Wait()
	return time.Since(begun), err
}
