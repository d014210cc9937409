package checkpoint

import (
	"context"
	"errors"
	"os"
)

const (
	// readSize is how many bytes a Read asks for at once.
	readSize = 1 << 20
	// edge is what direct reads begin and end at multiples of: no disk of today has larger blocks. One that had would
	// be read through the page cache, as is everything where buffers are not at such multiples.
	edge = 4 << 10
	// leastDirect is how many bytes are worth a read past the page cache: scales and vectors come from it by the page.
	leastDirect = 64 << 10
)

// A shard is one open file.
type shard struct {
	name   string // as its folder or the index spells it
	path   string
	file   *os.File
	size   int64
	direct *os.File // reads past the page cache, which costs as much as what is made of the weights; nil: not here
}

// openShard opens a file of the folder.
func openShard(home Folder, name string) (*shard, error) {
	file, size, err := home.Open(name)
	if err != nil {
		return nil, err
	}
	return &shard{name: name, path: home.Path(name), file: file, size: size, direct: openDirect(file)}, nil
}

// read returns n bytes from offset at, of at most readSize-2*edge, in buf.
func (s *shard) read(ctx context.Context, buf *[readSize]byte, at int64, n int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.direct != nil && n >= leastDirect {
		skip := int(at % edge)
		end := (skip + n + edge - 1) / edge * edge // may be beyond the end of the file, which is an error then
		if got, _ := s.direct.ReadAt(buf[:end], at-int64(skip)); got >= skip+n {
			return buf[skip:][:n], nil
		}
	}
	return buf[:n], ReadAt(s.file, buf[:n], at)
}

func (s *shard) Close() error {
	err := s.file.Close()
	if s.direct != nil {
		err = errors.Join(err, s.direct.Close())
	}
	return err
}
