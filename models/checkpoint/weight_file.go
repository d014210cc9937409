package checkpoint

import (
	"context"
	"errors"
	"os"
)

const (
	// readSize is how many bytes are asked for at once.
	readSize = 1 << 20
	// edge is what direct reads begin and end at multiples of: no disk of today has larger blocks. One that had would
	// be read through the page cache, as is everything where buffers are not at such multiples.
	edge = 4 << 10
	// leastDirect is how many bytes are worth a read past the page cache: scales and vectors come from it by the page.
	leastDirect = 64 << 10
)

// A Buffer is room for a range of a WeightFile. Goroutines that read at the same time have one each.
type Buffer [readSize]byte

// MostRange is how many bytes a range may have.
const MostRange = readSize - 2*edge

// A WeightFile is an open file of weights. Its methods may be called concurrently, Close excepted.
type WeightFile struct {
	Path string // as the caller of Locate would reach it
	Size int64  // in bytes

	file   *os.File
	direct *os.File // reads past the page cache, which costs as much as what is made of the weights; nil: not here
}

// OpenWeights opens a file of the folder as Open does. The caller closes it.
func (f Folder) OpenWeights(name string) (*WeightFile, error) {
	file, size, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	return &WeightFile{Path: f.Path(name), Size: size, file: file, direct: openDirect(file)}, nil
}

// Range returns n bytes, at most MostRange, from offset at; it is an error if some lie beyond the end. They are in buf, until
// that is used again, and many come past the page cache, if the file system grants it.
func (w *WeightFile) Range(ctx context.Context, buf *Buffer, at int64, n int) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.direct != nil && n >= leastDirect {
		skip := int(at % edge)
		end := (skip + n + edge - 1) / edge * edge // may be beyond the end of the file, which is an error then
		if got, _ := w.direct.ReadAt(buf[:end], at-int64(skip)); got >= skip+n {
			return buf[skip:][:n], nil
		}
	}
	return buf[:n], ReadAt(w.file, buf[:n], at)
}

// ReadAt implements io.ReaderAt, for headers: it reads through the page cache.
func (w *WeightFile) ReadAt(p []byte, off int64) (int, error) { return w.file.ReadAt(p, off) }

// Close closes the file.
func (w *WeightFile) Close() error {
	err := w.file.Close()
	if w.direct != nil {
		err = errors.Join(err, w.direct.Close())
	}
	return err
}
